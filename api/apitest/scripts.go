package apitest

import (
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/scenario"
)

// scenarioRules are the project's scenarios.
func scenarioRules(t *testing.T) []rule {
	t.Helper()
	scripts, err := scenario.All()
	if err != nil {
		t.Fatal(err)
	}
	return scriptRules(scripts)
}

func scriptRules(scripts []scenario.Script) []rule {
	rules := make([]rule, len(scripts))
	for i, s := range scripts {
		rules[i] = rule{s.Name, func(t *trial) { t.follows(s) }}
	}
	return rules
}

// follows puts a script's lines to the manager, each of its partitions a new one.
func (t *trial) follows(s scenario.Script) {
	t.Helper()
	steps, err := s.Steps(func(name string) api.TopicIdPartition { return newTip(name) })
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if !step.Answerable(scenario.Mode(t.bounded)) {
			continue
		}
		if got, err := step.Do(t.ctx, t.m); err != nil || got != step.Want {
			t.Errorf("%s: %s -> %s (%v), want %s", step.At, step.Text, got, err, step.Want)
		}
	}
}
