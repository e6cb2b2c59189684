package metrics

import "github.com/prometheus/client_golang/prometheus"

// Topics shows whether the topics' settings are as they should be.
type Topics struct{ ok *prometheus.GaugeVec }

// RegisterTopics registers the metric, which has no value before the first Set.
func RegisterTopics(reg prometheus.Registerer) Topics {
	t := Topics{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "rlmm_metadata_topic_config_ok",
		Help: "Whether a check of the topics and their settings found nothing (1) or something (0), by check; rlmm doctor tells what.",
	}, []string{"check"})}
	reg.MustRegister(t.ok)
	return t
}

// Set notes which checks found nothing.
func (t Topics) Set(ok map[string]bool) {
	for check, is := range ok {
		t.ok.WithLabelValues(check).Set(oneIf(is))
	}
}

// Unknown forgets what was found: the topics can't be looked at.
func (t Topics) Unknown() { t.ok.Reset() }
