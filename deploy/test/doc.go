// Package deploytest has no code, only tests: of the Helm chart and of the systemd units next
// to it. It is a module of its own so that Helm's library, Kubernetes and their many modules
// stay out of rlmm's. The tests build rlmm and ask it whether it takes what the files give it;
// none of them starts a pod or a unit.
package deploytest
