package listing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/api"
)

var (
	one = api.UUIDFromBits(0x4000, 1)
	two = api.UUIDFromBits(0x4000, 2)
)

// The same segment by each name that is known to be in use.
func TestSegmentOf(t *testing.T) {
	topic := api.UUIDFromBits(0x4001, 7)
	dashed := "00000000-0000-4000-0000-000000000001"
	for _, name := range []string{
		one.String(),
		dashed,
		fmt.Sprintf("tiered/orders-%s/3/00000000000000000464-%s.log", topic, one), // Aiven
		fmt.Sprintf("tiered/orders.eu-%s/3/00000000000000000464-%s.rsm-manifest", topic, one),
		fmt.Sprintf("kafka-tiered-storage/orders-3-%s/00000000000000000464-%s.log", topic, one), // LocalTieredStorage
		fmt.Sprintf("s3://bucket/%s/0/%s.log.gz", topic, dashed),
		fmt.Sprintf("orders/0/%s/segment.data", one),
		fmt.Sprintf("orders/0/%s/indexes/time", dashed),
	} {
		if id, ok := SegmentOf(name); !ok || id != one {
			t.Errorf("%s: %s, %v", name, id, ok)
		}
	}
	for _, name := range []string{
		"", "/", "a", "orders/0/leader-epoch-checkpoint", "orders-" + topic.String() + "/0/manifest",
		"x" + one.String(), one.String()[:21] + "!", strings.Repeat("-", 36), one.String() + "-1.log",
	} {
		if id, ok := SegmentOf(name); ok {
			t.Errorf("%s: %s", name, id)
		}
	}
}

func TestRead(t *testing.T) {
	text := strings.Join([]string{
		"2026-11-30 15:48:02       1000 tiered/my orders/0/00000000000000000000-" + one.String() + ".log",
		"2026-11-30 15:48:02         10 tiered/my orders/0/00000000000000000000-" + one.String() + ".indexes",
		"",
		`"bucket","tiered/orders/0/00000000000000000100-` + two.String() + `.log","1000"`,
		"tiered/README.md",
	}, "\r\n")
	got, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Listing{Objects: 4, Unnamed: 1, Segments: map[api.UUID]string{
		one: "tiered/my orders/0/00000000000000000000-" + one.String() + ".log",
		two: "tiered/orders/0/00000000000000000100-" + two.String() + ".log",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, bad := range []string{"a\n\"b", "a\n" + strings.Repeat("x", maxLine+1)} {
		if _, err := Read(strings.NewReader(bad)); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
}

// FuzzRead: every line is counted once, and a name that is told has its id.
func FuzzRead(f *testing.F) {
	f.Add("2026-11-30 15:48:02 1000 a/" + one.String() + ".log\n\"b\",\"" + two.String() + "\"\nc")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		if len(l.Segments)+l.Unnamed > l.Objects || l.Objects > strings.Count(text, "\n")+1 {
			t.Errorf("%+v", l)
		}
		for id, name := range l.Segments {
			if got, ok := SegmentOf(name); !ok || got != id {
				t.Errorf("%q told of %s, has %s", name, id, got)
			}
		}
	})
}
