package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ServerConfig is the limits of [Serve]. A zero is its default; a negative timeout is no
// limit, but for ShutdownTimeout, where it means not to wait.
type ServerConfig struct {
	// ReadHeaderTimeout is the time to send a request's header, 10 s by default.
	ReadHeaderTimeout time.Duration
	// ReadTimeout is the time to send a whole request, 30 s by default.
	ReadTimeout time.Duration
	// WriteTimeout is the time from the end of a request's header to the end of its
	// answer, 150 s by default. It must be longer than a mutation may wait for its
	// outcome (Kafka's remote.log.metadata.consume.wait.ms, 120 s).
	WriteTimeout time.Duration
	// MinRate is how many bytes a second a client must read of a long list, for which it
	// has the WriteTimeout besides; 64 KiB by default, negative is no limit. A list holds a snapshot
	// of the state while it is read.
	MinRate int64
	// IdleTimeout is how long an unused connection is kept, 120 s by default.
	IdleTimeout time.Duration
	// MaxHeaderBytes is the greatest header, 64 KiB by default. It isn't negative.
	MaxHeaderBytes int
	// ShutdownTimeout is how long requests in progress may take after the end, 20 s by
	// default. Their contexts are canceled then, and they have 2 s more to answer.
	ShutdownTimeout time.Duration
	// Logger gets what fails on connections, as warnings. Nil logs nothing.
	Logger *slog.Logger
}

// canceledTimeout is how long requests may take to answer once they are canceled.
const canceledTimeout = 2 * time.Second

// defaultMinRate is half a Mbit/s.
const defaultMinRate = 64 << 10

// minRateKey is where a request's context has the MinRate.
type minRateKey struct{}

// Serve answers requests that come in at l until ctx ends. It then accepts no more and
// lets those in progress end.
//
// It returns nil when all were answered, an error when connections had to be cut or
// when l fails. It closes l in every case. Contexts of requests carry the values of
// ctx, not its end.
func Serve(ctx context.Context, l net.Listener, h http.Handler, cfg ServerConfig) error {
	rated := context.WithValue(context.WithoutCancel(ctx), minRateKey{}, cmp.Or(cfg.MinRate, defaultMinRate))
	requests, cancelRequests := context.WithCancel(rated)
	defer cancelRequests()
	srv := newServer(h, cfg)
	srv.BaseContext = func(net.Listener) context.Context { return requests }
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve http on %s: %w", l.Addr(), err), srv.Close())
	case <-ctx.Done():
	}
	err := shutdown(srv, cancelRequests, cmp.Or(cfg.ShutdownTimeout, 20*time.Second))
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve http on %s: %w", l.Addr(), failed))
	}
	return err
}

func newServer(h http.Handler, cfg ServerConfig) *http.Server {
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: cmp.Or(cfg.ReadHeaderTimeout, 10*time.Second),
		ReadTimeout:       cmp.Or(cfg.ReadTimeout, 30*time.Second),
		WriteTimeout:      cmp.Or(cfg.WriteTimeout, 150*time.Second),
		IdleTimeout:       cmp.Or(cfg.IdleTimeout, 120*time.Second),
		MaxHeaderBytes:    cmp.Or(cfg.MaxHeaderBytes, 64<<10),
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// shutdown lets requests end, then cancels them, so that those which wait can still
// say where their event was published, and cuts what is left.
func shutdown(srv *http.Server, cancelRequests func(), grace time.Duration) error {
	if shutdownWithin(srv, grace) == nil {
		return nil
	}
	cancelRequests()
	if shutdownWithin(srv, canceledTimeout) == nil {
		return nil
	}
	return errors.Join(
		fmt.Errorf("stop http: requests still ran after %v and were cut", grace+canceledTimeout), srv.Close())
}

func shutdownWithin(srv *http.Server, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return srv.Shutdown(ctx)
}
