package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/check"
)

// Each kind of difference between rows and objects, and nothing about what may go either
// way: copies and deletions that are under way.
func TestObjects(t *testing.T) {
	table := newTable(join(
		copied(orders, 1, 0, 99, epochs(0, 0)), copied(orders, 2, 100, 199, epochs(0, 100)), copied(orders, 3, 200, 299, epochs(0, 200)),
		[]api.RemoteLogMetadata{
			moved(orders, 3, api.DeleteSegmentStarted), moved(orders, 3, api.DeleteSegmentFinished),
			added(orders, 4, 300, 399, epochs(0, 300)), moved(orders, 5, api.DeleteSegmentStarted),
		},
		deleted(orders),
	)...)
	named := func(ids ...uint64) map[api.UUID]string {
		names := map[api.UUID]string{}
		for _, n := range ids {
			names[id(orders, n).ID] = "object " + string(rune('0'+n))
		}
		return names
	}
	for _, c := range []struct {
		name  string
		names map[api.UUID]string
		age   time.Duration
		want  []string
	}{
		{"all", named(1, 2, 4, 5), time.Hour, nil},
		{"what may be gone", named(1, 2), time.Hour, nil},
		{"missing", named(2), time.Hour, []string{"missing_object ORDERS/s1 (orders): segment s1 is finished, and no object of the listing has its id"}},
		{"just finished", named(2), 2 * time.Hour, nil},
		{"deleted", named(1, 2, 3), time.Hour, []string{"deleted_object object 3 (orders): segment s3 is deleted, and its object is there"}},
		{"unknown", named(1, 2, 8, 7), time.Hour, []string{
			"unknown_object object 7: no event tells of segment " + id(orders, 7).ID.String(),
			"unknown_object object 8: no event tells of segment " + id(orders, 8).ID.String(),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := check.NewObjects(c.names, check.Options{Now: now, OrphanAge: c.age})
			found := o.Partition(orders, rowsOf(table, orders))
			got := text(check.Report{Findings: append(found, o.Unknown()...)})
			if diff := cmp.Diff(strings.Join(c.want, "\n"), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
