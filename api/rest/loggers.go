package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// Loggers are the levels of loggers, by name; "root" is the one of all that has no other.
type Loggers map[string]*slog.LevelVar

// levels are the levels by their names, which Kafka Connect has too.
var levels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

// logLevel is a level in JSON.
type logLevel struct {
	Level string `json:"level"`
}

func (h *handler) routeLoggers() {
	if len(h.Loggers) == 0 {
		return
	}
	h.get("/admin/loggers", h.loggers)
	h.route("PUT /admin/loggers/{name}", h.setLevel)
}

func (h *handler) loggers(r *http.Request) (any, error) {
	all := map[string]logLevel{}
	for name, level := range h.Loggers {
		all[name] = logLevel{level.Level().String()}
	}
	return all, readParams(r, nil, nil).err
}

// setLevel answers with the names of the loggers that were changed, as Connect does.
func (h *handler) setLevel(w http.ResponseWriter, r *http.Request) {
	name, level, err := h.readLevel(w, r)
	if err != nil {
		h.fail(w, r, api.NotPublished, err)
		return
	}
	h.Loggers[name].Set(level)
	h.Logger.LogAttrs(r.Context(), slog.LevelInfo, "level set", slog.String("logger", name), slog.String("level", level.String()))
	write(w, http.StatusOK, []string{name})
}

func (h *handler) readLevel(w http.ResponseWriter, r *http.Request) (name string, level slog.Level, err error) {
	body, err := h.admit(w, r, h.AllowControl, errControlOff)
	if err == nil {
		err = readParams(r, nil, nil).err
	}
	if err != nil {
		return name, level, err
	}
	if name = r.PathValue("name"); h.Loggers[name] == nil {
		return name, level, &Error{Code: http.StatusNotFound, Message: "no such logger: " + name, Reason: reasonNotFound}
	}
	level, err = read(body, true, takeLevel)
	return name, level, err
}

func takeLevel(o *object) slog.Level {
	text := required[string](o, "level")
	i := slices.IndexFunc(levels, func(l slog.Level) bool { return strings.EqualFold(l.String(), text) })
	if i < 0 {
		o.fail("level", "must be DEBUG, INFO, WARN or ERROR")
		return 0
	}
	return levels[i]
}

// Loggers returns the levels of the server's loggers, by name: GET /admin/loggers.
func (c *Client) Loggers(ctx context.Context) (map[string]slog.Level, error) {
	return get(ctx, c, c.base.JoinPath("admin", "loggers"), func(data []byte) (map[string]slog.Level, error) {
		var shown map[string]struct {
			Level slog.Level `json:"level"`
		}
		err := json.Unmarshal(data, &shown)
		all := make(map[string]slog.Level, len(shown))
		for name, l := range shown {
			all[name] = l.Level
		}
		return all, err
	})
}

// SetLogLevel sets the level of one of the server's loggers: PUT /admin/loggers/{name}.
func (c *Client) SetLogLevel(ctx context.Context, name string, level slog.Level) error {
	return c.change(ctx, call{
		method: http.MethodPut, url: c.base.JoinPath("admin", "loggers", name), body: logLevel{level.String()},
	})
}
