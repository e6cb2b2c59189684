package processor

import (
	"time"

	"github.com/tieredlog/rlmm/internal/store"
)

// Recovery is how the state of a metadata partition came up to date when this member got it.
type Recovery = store.Recovery

// tellRecovery tells of a partition that is being processed now; began is when its session
// was set up.
func (i *instance) tellRecovery(p int32, began time.Time) {
	st, ok := i.opened(p)
	if !ok || i.cfg.Recovered == nil {
		return
	}
	i.cfg.Recovered(Recovery{MetadataPartition: p, FromStore: st.fromStore, Records: st.records, Duration: time.Since(began)})
}
