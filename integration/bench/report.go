package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// WriteTable writes the rows for people: medians, the median ratio of the pairs with
// its extremes, and whether the target is met.
func WriteTable(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "measure\tunit\tours\tKafka's\tratio\tlowest–highest\trounds\ttarget\tmet")
	for _, r := range rows {
		ratio, spread, peer := "–", "–", "–"
		if r.Ratio > 0 {
			peer, ratio = number(r.Peer), number(r.Ratio)
			spread = number(r.Lowest) + "–" + number(r.Highest)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			r.Measure.Name, r.Measure.Unit, number(r.Ours), peer, ratio, spread, r.Rounds, target(r.Measure), verdict(r))
	}
	return t.Flush()
}

func target(m Measure) string {
	switch {
	case m.Bound > 0 && m.Lower:
		return "≤ " + number(m.Bound) + " " + m.Unit
	case m.Bound > 0:
		return "≥ " + number(m.Bound) + " " + m.Unit
	case m.Ratio > 0:
		return "ratio ≥ " + number(m.Ratio)
	}
	return ""
}

func verdict(r Row) string {
	met, ok := r.Met()
	switch {
	case !ok:
		return ""
	case met:
		return "yes"
	}
	return "no"
}

// number writes three digits that count, and all of what is before the point.
func number(v float64) string {
	decimals := 0
	if abs := math.Abs(v); abs > 0 && abs < 100 {
		decimals = min(6, 2-int(math.Floor(math.Log10(abs))))
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// line is a row in JSON; what wasn't measured or isn't asked is null.
type line struct {
	Name    string   `json:"name"`
	Ours    float64  `json:"ours"`
	Peer    *float64 `json:"peer"`
	Unit    string   `json:"unit"`
	Ratio   *float64 `json:"ratio"`
	Lowest  *float64 `json:"lowestRatio"`
	Highest *float64 `json:"highestRatio"`
	Rounds  int      `json:"rounds"`
	Target  string   `json:"target"`
	Met     *bool    `json:"met"`
}

// WriteJSON writes an object a line for each row: name, ours, peer, unit, ratio and so
// on. A ratio above 1 means that ours is better, whatever the unit.
func WriteJSON(w io.Writer, rows []Row) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, r := range rows {
		l := line{Name: r.Measure.Name, Ours: r.Ours, Unit: r.Measure.Unit, Rounds: r.Rounds, Target: target(r.Measure)}
		if r.Ratio > 0 {
			l.Peer, l.Ratio, l.Lowest, l.Highest = &r.Peer, &r.Ratio, &r.Lowest, &r.Highest
		}
		if met, ok := r.Met(); ok {
			l.Met = &met
		}
		if err := encoder.Encode(l); err != nil {
			return err
		}
	}
	return nil
}
