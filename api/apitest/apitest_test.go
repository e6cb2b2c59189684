package apitest_test

import (
	"net/http/httptest"
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/apitest"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/views"
)

func TestMain(m *testing.M) { rlmmtest.VerifyNoLeaks(m) }

func TestMemory(t *testing.T) {
	apitest.Run(t, apitest.Config{
		New: func(*testing.T) api.RemoteLogMetadataManager { return apitest.NewManager() },
	})
}

func TestMemoryWithEpochBounds(t *testing.T) {
	apitest.Run(t, apitest.Config{
		New: func(*testing.T) api.RemoteLogMetadataManager {
			return apitest.NewManager(apitest.WithMetadataPartitions(3), apitest.WithEpochBounds())
		},
		Bounded: true,
	})
}

func TestHTTPOverMemory(t *testing.T) {
	apitest.Run(t, apitest.Config{
		New: func(t *testing.T) api.RemoteLogMetadataManager {
			t.Helper()
			return overHTTP(t, apitest.NewManager())
		},
	})
}

// TestOnATopic is the whole path: an embedded broker, a processor, and managers that are
// shared by all tests.
func TestOnATopic(t *testing.T) {
	c := rlmmtest.NewCluster(t, 4)
	c.RunProcessor()
	contract := c.ReadyManager()
	bounded := c.ReadyManager(func(cfg *views.Config) { cfg.HighestOffsetBounds = views.BoundsEpoch })
	client := overHTTP(t, contract)

	t.Run("manager", func(t *testing.T) { apitest.Run(t, shared(contract, false)) })
	t.Run("manager with epoch bounds", func(t *testing.T) { apitest.Run(t, shared(bounded, true)) })
	t.Run("HTTP", func(t *testing.T) { apitest.Run(t, shared(client, false)) })
}

func shared(m api.RemoteLogMetadataManager, bounded bool) apitest.Config {
	return apitest.Config{New: func(*testing.T) api.RemoteLogMetadataManager { return m }, Bounded: bounded}
}

// overHTTP is the client of a server of the manager.
func overHTTP(t *testing.T, m api.RemoteLogMetadataManager) api.RemoteLogMetadataManager {
	t.Helper()
	server := httptest.NewServer(rest.NewHandler(rest.Config{Manager: m, AllowMutations: true}))
	t.Cleanup(server.Close)
	client, err := rest.NewClient(server.URL, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return client
}
