// Package tlsconfig makes TLS settings of certificates and keys in files, in text, or in
// stores as Java has them: PEM, PKCS12 or JKS, their content says which. What lies in files
// is read for each connection, so that certificates rotate without a restart. Errors begin
// with Kafka's name of the setting (ssl.keystore.location, say) and show no secret.
package tlsconfig
