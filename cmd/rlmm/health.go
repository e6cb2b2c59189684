package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
)

func newHealth() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:         "health URL",
		Short:       "Ask a running server or processor whether it is well",
		Long:        "Get the URL and exit with 0 when the answer is 200, with 4 when it is 503, else with 1. For\nimages without curl. Of the configuration it minds http.client.*, for https.",
		Example:     "  rlmm health http://127.0.0.1:8083/readyz",
		Args:        usage(exactly(1)),
		Annotations: map[string]string{takesSettings: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			client, err := httpClient(cmd)
			if err != nil {
				return err
			}
			return health(ctx, client, args[0], cmd.OutOrStdout())
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}

func health(ctx context.Context, client *http.Client, url string, out io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return &usageError{err}
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(out, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusServiceUnavailable:
		return fmt.Errorf("%s: %s: %w", url, resp.Status, api.ErrNotReady)
	}
	return fmt.Errorf("%s: %s", url, resp.Status)
}
