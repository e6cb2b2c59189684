package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/api/rest/auth"
)

// askAt returns a client of the server at the URL that --server gives, with the login and
// the certificates of the configuration.
func askAt(cmd *cobra.Command, url string) (*rest.Client, error) {
	connection, err := httpClient(cmd)
	if err != nil {
		return nil, err
	}
	client, err := rest.NewClient(url, connection)
	if errors.Is(err, api.ErrInvalidArgument) {
		err = &usageError{fmt.Errorf("--server: %w", err)}
	}
	return client, err
}

func httpClient(cmd *cobra.Command) (*http.Client, error) {
	cfg, err := configOf(cmd).HTTPClient()
	if err != nil {
		return nil, &usageError{err}
	}
	settings, err := cfg.TLS.Config("") // the transport names the host
	if err != nil {
		return nil, err
	}
	return auth.Client{Token: cfg.Token.Reveal, TLS: settings}.HTTP(), nil
}
