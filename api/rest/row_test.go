package rest_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// tableRows are a row of each kind, the last of another partition.
func tableRows() []rest.Row {
	bare := api.RemoteLogSegmentMetadata{ID: id, BrokerID: 2, EventTimestampMs: 5, State: api.DeleteSegmentStarted}
	other := named
	other.Partition = 4
	return []rest.Row{
		{Kind: rest.RowSegment, MetadataPartition: 7, Offset: 12, FinishedOffset: 9, Segment: sample()},
		{Kind: rest.RowHeadless, MetadataPartition: 7, Offset: 0, FinishedOffset: -1, Segment: bare},
		{Kind: rest.RowMarker, MetadataPartition: 7, Offset: 13, FinishedOffset: 0, Segment: bare, HighestOffsets: api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 1, Offset: 8})},
		{Kind: rest.RowPartitionDelete, MetadataPartition: 0, Offset: 3, FinishedOffset: -1, Delete: api.RemotePartitionDeleteMetadata{
			TopicIdPartition: other, State: api.DeletePartitionMarked,
		}},
	}
}

// rowServer serves the rows, and then the error.
func rowServer(t *testing.T, rows []rest.Row, err error) (*rest.Client, string) {
	t.Helper()
	s := httptest.NewServer(newHandler(rest.Config{
		Manager: full(),
		Rows: func(_ context.Context, f rest.RowFilter) iter.Seq2[rest.Row, error] {
			return func(yield func(rest.Row, error) bool) {
				for _, row := range rows {
					if f.Matches(row.Partition()) && !yield(row, nil) {
						return
					}
				}
				if err != nil {
					yield(rest.Row{}, err)
				}
			}
		},
	}))
	t.Cleanup(s.Close)
	client, failed := rest.NewClient(s.URL, nil)
	if failed != nil {
		t.Fatal(failed)
	}
	return client, s.URL
}

func collectRows(c *rest.Client, f rest.RowFilter) (all []rest.Row, err error) {
	for row, err := range c.Rows(context.Background(), f) {
		if err != nil {
			return all, err
		}
		all = append(all, row)
	}
	return all, nil
}

func TestRowsComeAsTheyAre(t *testing.T) {
	rows := tableRows()
	c, _ := rowServer(t, rows, nil)
	three, nine := int32(3), int32(9)
	for _, tt := range []struct {
		filter rest.RowFilter
		want   []rest.Row
	}{
		{rest.RowFilter{}, rows},
		{rest.RowFilter{Topic: "orders"}, rows},
		{rest.RowFilter{Topic: topicID.String(), Partition: &three}, rows[:3]},
		{rest.RowFilter{Partition: &nine}, nil},
		{rest.RowFilter{Topic: "order"}, nil},
	} {
		got, err := collectRows(c, tt.filter)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%+v: %v\n%s", tt.filter, err, diff)
		}
	}
}

func TestRowsTellErrors(t *testing.T) {
	c, _ := rowServer(t, nil, &api.NotReadyError{MetadataPartition: 7, Applied: 1, Target: 2})
	if _, err := collectRows(c, rest.RowFilter{}); !errors.Is(err, api.ErrNotReady) {
		t.Errorf("before the first: %v", err)
	}
	c, base := rowServer(t, tableRows(), errors.New("broken"))
	if got, err := collectRows(c, rest.RowFilter{}); !errors.Is(err, api.ErrIO) || len(got) > len(tableRows()) {
		t.Errorf("after some: %v", err)
	}
	for _, query := range []string{"?partition=x", "?partition=00", "?topics=a", "?topic=a&topic=b"} {
		response, err := http.Get(base + "/v1/rows" + query)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d", query, response.StatusCode)
		}
	}
	bare := httptest.NewServer(newHandler(rest.Config{Manager: full()}))
	defer bare.Close()
	client, err := rest.NewClient(bare.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collectRows(client, rest.RowFilter{}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a server without rows: %v", err)
	}
}
