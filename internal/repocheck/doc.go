// Package repocheck has no code, only tests: of the files of this repository that no
// compiler reads. They see that the compose file describes the cluster that it should, and
// that what one file says of another (commands, versions, targets) is so.
package repocheck
