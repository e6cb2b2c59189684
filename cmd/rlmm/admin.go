package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/config"
)

// startAdmin serves profiles on a loopback address, and returns what waits for its end after
// ctx has ended. Without an address it does nothing.
func startAdmin(ctx context.Context, addr string, log *slog.Logger) (wait func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	// Profiles have what is in memory.
	if err := config.CheckLoopback(addr); err != nil {
		return nil, &usageError{fmt.Errorf("--admin: %w", err)}
	}
	l, err := listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	log.Info("profiles", "url", fmt.Sprintf("http://%s/debug/pprof/", l.Addr()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// A profile takes as long as it is asked to.
		if err := rest.Serve(ctx, l, profiles(), rest.ServerConfig{WriteTimeout: -1, ShutdownTimeout: -1, Logger: log}); err != nil {
			log.Warn("profiles are served no more", "error", err)
		}
	}()
	return func() { <-ended }, nil
}

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
