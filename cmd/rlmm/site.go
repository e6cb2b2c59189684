package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/api/rest/auth"
	"github.com/tieredlog/rlmm/internal/config"
)

// site is where HTTP is served, and to whom.
type site struct {
	net.Listener
	scheme string
	policy auth.Policy
	log    *slog.Logger
}

// url is where the site is, as the listener's address says.
func (s *site) url() string { return s.scheme + "://" + s.Addr().String() }

// openSite listens at the address as the configuration says. It tells of what everybody may
// change from elsewhere.
func openSite(cmd *cobra.Command, addr string, log *slog.Logger) (*site, error) {
	cfg, err := configOf(cmd).HTTPServer()
	if err != nil {
		return nil, &usageError{err}
	}
	l, err := listen(cmd.Context(), addr)
	if err != nil {
		return nil, err
	}
	s := &site{l, "http", policyOf(cfg), log}
	if !cfg.TLS.IsZero() {
		settings, err := cfg.TLS.Config(log)
		if err != nil {
			_ = l.Close()
			return nil, err
		}
		s.scheme, s.Listener = "https", tls.NewListener(l, settings)
	}
	return s, nil
}

func policyOf(cfg config.HTTPServer) auth.Policy {
	return auth.Policy{Read: grantOf(cfg.Read), Mutate: grantOf(cfg.Mutate), Control: grantOf(cfg.Control)}
}

func grantOf(a config.Access) auth.Grant {
	g := auth.Grant{Principals: a.Principals}
	if !a.Tokens.IsZero() {
		g.Tokens = a.Tokens.Tokens
	}
	return g
}

// serve answers requests until the context ends.
func (s *site) serve(ctx context.Context, h http.Handler) error {
	s.log.Info("serving", "http", s.Addr(), "tls", s.scheme == "https", "open", s.policy.IsZero())
	return rest.Serve(ctx, s.Listener, auth.Guard(h, s.policy, s.log), rest.ServerConfig{Logger: s.log})
}

// waiting is what can be served without a manager.
func (s *site) waiting(level *slog.LevelVar) rest.Config {
	return rest.Config{Info: serverInfo(func() string { return "" }), Loggers: rest.Loggers{"root": level}, Logger: s.log}
}

// warnOpen tells when others than this host's users may change something without a login.
func (s *site) warnOpen(mutations, control bool) {
	tcp, ok := s.Addr().(*net.TCPAddr)
	if (mutations || control) && s.policy.IsZero() && (!ok || !tcp.IP.IsLoopback()) {
		s.log.Warn("whoever reaches this address may change things: set http.mutate.tokens, or http.ssl.truststore.certificates", "http", s.Addr())
	}
}
