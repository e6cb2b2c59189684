package rest_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// drawSegments draws segments of which many begin together.
func drawSegments(t *rapid.T, label string) []api.RemoteLogSegmentMetadata {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) api.RemoteLogSegmentMetadata {
		m := sample()
		m.StartOffset = rapid.Int64Range(0, 4).Draw(t, "start")
		m.ID.ID = api.UUIDFromBits(rapid.Uint64().Draw(t, "most"), rapid.Uint64().Draw(t, "least"))
		return m
	}), 0, 8).Draw(t, label)
}

func sorted(segments []api.RemoteLogSegmentMetadata) []api.RemoteLogSegmentMetadata {
	slices.SortFunc(segments, func(a, b api.RemoteLogSegmentMetadata) int { return a.Cursor().Compare(*b.Cursor()) })
	return slices.CompactFunc(segments, func(a, b api.RemoteLogSegmentMetadata) bool { return *a.Cursor() == *b.Cursor() })
}

// TestPagesOfAChangingList adds and deletes segments between pages: none comes twice,
// all come in order, and all that stayed come.
func TestPagesOfAChangingList(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		staying := sorted(drawSegments(r, "staying"))
		f := &fake{segments: sorted(slices.Concat(staying, drawSegments(r, "first passing")))}
		limit := rapid.IntRange(1, 5).Draw(r, "limit")
		got := pagesOf(t, f, limit, func() {
			f.segments = sorted(slices.Concat(staying, drawSegments(r, "passing")))
		})
		if !slices.IsSortedFunc(got, compareShapes) || len(slices.CompactFunc(slices.Clone(got), same)) != len(got) {
			r.Fatalf("not in order, or twice: %v", got)
		}
		for _, want := range staying {
			if !slices.ContainsFunc(got, func(s rest.Segment) bool { return same(s, rest.NewSegment(want)) }) {
				r.Fatalf("%v stayed and was skipped", want.ID)
			}
		}
	})
}

func compareShapes(a, b rest.Segment) int {
	return a.Metadata().Cursor().Compare(*b.Metadata().Cursor())
}

func same(a, b rest.Segment) bool { return compareShapes(a, b) == 0 }
