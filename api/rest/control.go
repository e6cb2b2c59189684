package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/tieredlog/rlmm/api"
)

// MetadataPartition is how those who consume a metadata partition in this process do. One
// of the two is there.
type MetadataPartition struct {
	// ID is the metadata partition.
	ID        int32 `json:"id"`
	Views     *Task `json:"views,omitempty"`
	Processor *Task `json:"processor,omitempty"`
}

// MetadataPartitions are the status by metadata partition, ascending.
func (s Status) MetadataPartitions() []MetadataPartition {
	byID := map[int32]*MetadataPartition{}
	list := []*MetadataPartition{}
	each := func(g *TaskGroup, set func(*MetadataPartition, *Task)) {
		if g == nil {
			return
		}
		for i := range g.Tasks {
			task := &g.Tasks[i]
			if byID[task.ID] == nil {
				byID[task.ID] = &MetadataPartition{ID: task.ID}
				list = append(list, byID[task.ID])
			}
			set(byID[task.ID], task)
		}
	}
	each(s.Views, func(p *MetadataPartition, t *Task) { p.Views = t })
	each(s.Processor, func(p *MetadataPartition, t *Task) { p.Processor = t })
	slices.SortFunc(list, func(a, b *MetadataPartition) int { return int(a.ID) - int(b.ID) })
	all := make([]MetadataPartition, len(list))
	for i, p := range list {
		all[i] = *p
	}
	return all
}

// routeStatus serves what this process runs, where it runs something.
func (h *handler) routeStatus() {
	if h.Views == nil && h.Processor == nil {
		return
	}
	const partitions, one = "/v1/metadata-partitions", "/v1/metadata-partitions/{metadataPartition}"
	h.get("/v1/status", h.status)
	h.get(partitions, h.metadataPartitions)
	h.get(one+"/status", h.metadataPartition)
	h.control("PUT "+one+"/pause", http.StatusAccepted, api.Controller.Pause)
	h.control("PUT "+one+"/resume", http.StatusAccepted, api.Controller.Resume)
	h.control("POST "+one+"/restart", http.StatusNoContent, api.Controller.Restart)
	h.control("POST "+one+"/rebuild", http.StatusAccepted, api.Controller.Rebuild)
}

func (h *handler) metadataPartitions(r *http.Request) (any, error) {
	err := readParams(r, nil, nil).err
	return listOf("metadataPartitions", h.consumers().MetadataPartitions(), asIs[MetadataPartition]), err
}

// metadataPartition answers 421 for what isn't consumed here, as for user partitions.
func (h *handler) metadataPartition(r *http.Request) (any, error) {
	number, err := pathMetadataPartition(r)
	if err != nil {
		return nil, err
	}
	all := h.consumers().MetadataPartitions()
	i := slices.IndexFunc(all, func(p MetadataPartition) bool { return p.ID == number })
	if i < 0 {
		return nil, &api.NotReadyError{MetadataPartition: number, Applied: -1, Target: -1}
	}
	return all[i], nil
}

// pathMetadataPartition reads the path of a request that takes no parameters.
func pathMetadataPartition(r *http.Request) (int32, error) {
	const name = "metadataPartition"
	number, err := parseInteger(name, r.PathValue(name), 32)
	if err != nil {
		return 0, err
	}
	return int32(number), readParams(r, nil, nil).err
}

var (
	errControlOff = &Error{Code: http.StatusForbidden, Message: "control is off on this server", Reason: reasonControlOff}
	errNoControl  = &Error{
		Code: http.StatusNotFound, Reason: reasonNotFound,
		Message: "nothing to pause, resume, restart or rebuild here: the group gives a processor its metadata partitions",
	}
)

// control serves a request to change how a metadata partition is consumed. It is answered
// as Connect does, without a body.
func (h *handler) control(pattern string, status int, change func(api.Controller, context.Context, int32) error) {
	h.route(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h.tryControl(w, r, change); err != nil {
			h.fail(w, r, api.NotPublished, err)
			return
		}
		setHead(w.Header(), "")
		w.WriteHeader(status)
	})
}

func (h *handler) tryControl(w http.ResponseWriter, r *http.Request, change func(api.Controller, context.Context, int32) error) error {
	controller, ok := h.Manager.(api.Controller)
	if !ok {
		return errNoControl
	}
	body, err := h.admit(w, r, h.AllowControl, errControlOff)
	if err != nil {
		return err
	}
	if len(body) > 0 {
		return &api.InvalidArgumentError{Field: "body", Reason: "must be empty"}
	}
	number, err := pathMetadataPartition(r)
	if err != nil {
		return err
	}
	return change(controller, r.Context(), number)
}

var _ api.Controller = (*Client)(nil)

// Pause is [api.Controller]'s: PUT …/pause.
func (c *Client) Pause(ctx context.Context, metadataPartition int32) error {
	return c.control(ctx, http.MethodPut, metadataPartition, "pause")
}

// Resume is [api.Controller]'s: PUT …/resume.
func (c *Client) Resume(ctx context.Context, metadataPartition int32) error {
	return c.control(ctx, http.MethodPut, metadataPartition, "resume")
}

// Restart is [api.Controller]'s: POST …/restart.
func (c *Client) Restart(ctx context.Context, metadataPartition int32) error {
	return c.control(ctx, http.MethodPost, metadataPartition, "restart")
}

// Rebuild is [api.Controller]'s: POST …/rebuild.
func (c *Client) Rebuild(ctx context.Context, metadataPartition int32) error {
	return c.control(ctx, http.MethodPost, metadataPartition, "rebuild")
}

func (c *Client) control(ctx context.Context, method string, metadataPartition int32, what string) error {
	return c.change(ctx, call{method: method, url: c.base.JoinPath("v1", "metadata-partitions", strconv.Itoa(int(metadataPartition)), what)})
}

// change sends a request whose answer says no more than that it was carried out.
func (c *Client) change(ctx context.Context, to call) error {
	_, refusal, err := do(ctx, c, to, func([]byte) (struct{}, error) { return struct{}{}, nil })
	if refusal != nil {
		return to.typed(refusal)
	}
	return err
}

// MetadataPartitions returns the metadata partitions that the server consumes, ascending:
// GET /v1/metadata-partitions.
func (c *Client) MetadataPartitions(ctx context.Context) ([]MetadataPartition, error) {
	return get(ctx, c, c.base.JoinPath("v1", "metadata-partitions"), member[[]MetadataPartition]("metadataPartitions"))
}

// MetadataPartition returns how a metadata partition does, ErrNotAssigned when the server
// doesn't consume it: GET /v1/metadata-partitions/{metadataPartition}/status.
func (c *Client) MetadataPartition(ctx context.Context, number int32) (MetadataPartition, error) {
	from := c.base.JoinPath("v1", "metadata-partitions", strconv.Itoa(int(number)), "status")
	return get(ctx, c, from, func(data []byte) (p MetadataPartition, err error) {
		return p, json.Unmarshal(data, &p)
	})
}
