package views

import (
	"testing"
	"time"

	"github.com/tieredlog/rlmm/internal/lag"
)

// Under load events come and are applied while a look at the end is under way. The look
// counts all the same; one that shows an end before what was applied when it began is of
// another topic.
func TestLookThatIsOvertaken(t *testing.T) {
	began := time.Now()
	p := &partition{progress: newProgress(5), lag: lag.New(began.Add(-time.Hour), time.Hour)}
	p.looked(t.Context(), 3, 4, began)
	if fresh, behind := p.freshness(); fresh.Staleness != 0 || behind.End != 4 {
		t.Errorf("overtaken: %+v, %+v", fresh, behind)
	}
	p.looked(t.Context(), 5, 4, began)
	if fresh, _ := p.freshness(); fresh.Staleness == 0 {
		t.Errorf("of another topic: %+v", fresh)
	}
}
