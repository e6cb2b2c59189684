package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/IBM/sarama"
)

// togetherBytes is how much of each partition a fetch brings at least that is of several
// partitions: only the first one of them is sure to bring a whole batch.
const togetherBytes = 64 << 10

// mostTogether bounds a fetch of several partitions; those that it has no room for are
// asked for once more.
const mostTogether = 32 << 20

// fetches reads from the leaders of partitions, with one request to each for all that is
// asked at a time.
type fetches struct {
	client sarama.Client

	mu    sync.Mutex
	looks map[int32]*shared[fetchKey, fetchAnswers] // by leader
}

// fetchKey is what one wants to read.
type fetchKey struct {
	topicPartition
	from int64
	most int32 // bytes, or one batch when that is larger
}

type fetchAnswer struct {
	block *sarama.FetchResponseBlock
	err   error
}

type fetchAnswers map[fetchKey]fetchAnswer

func newFetches(client sarama.Client) *fetches {
	return &fetches{client: client, looks: map[int32]*shared[fetchKey, fetchAnswers]{}}
}

// get reads what is asked for.
func (f *fetches) get(ctx context.Context, key fetchKey) (*sarama.FetchResponseBlock, error) {
	leader, err := call(ctx, func() (*sarama.Broker, error) { return f.client.Leader(key.topic, key.partition) })
	if err != nil {
		return nil, err
	}
	answers, err := f.look(leader.ID()).get(ctx, key)
	if err != nil {
		return nil, err
	}
	answer := answers[key]
	if len(answers) == 1 || !answer.isCutShort(key.from) {
		return answer.block, answer.err
	}
	answer, err = call(ctx, func() (fetchAnswer, error) { return f.ask(leader.ID(), []fetchKey{key})[key], nil })
	return answer.block, cmp.Or(err, answer.err)
}

func (f *fetches) look(leader int32) *shared[fetchKey, fetchAnswers] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looks[leader] == nil {
		f.looks[leader] = &shared[fetchKey, fetchAnswers]{ask: func(keys []fetchKey) fetchAnswers { return f.ask(leader, keys) }}
	}
	return f.looks[leader]
}

// ask sends one request, or more when a partition is asked for in several ways.
func (f *fetches) ask(leader int32, keys []fetchKey) fetchAnswers {
	answers := fetchAnswers{}
	for len(keys) > 0 {
		var now, later []fetchKey
		for _, k := range keys {
			if slices.ContainsFunc(now, func(o fetchKey) bool { return o.topicPartition == k.topicPartition }) {
				later = append(later, k)
			} else {
				now = append(now, k)
			}
		}
		f.once(leader, now, answers)
		keys = later
	}
	return answers
}

// once adds the leader's answers to answers.
func (f *fetches) once(leader int32, keys []fetchKey, answers fetchAnswers) {
	req := &sarama.FetchRequest{Version: 4}
	for _, k := range keys {
		most := k.most
		if len(keys) > 1 {
			most = max(most, togetherBytes)
		}
		req.AddBlock(k.topic, k.partition, k.from, most, -1)
		req.MaxBytes = min(req.MaxBytes+most, mostTogether)
	}
	broker, err := f.client.Broker(leader)
	var resp *sarama.FetchResponse
	if err == nil {
		resp, err = broker.Fetch(req)
		err = closeBroken(broker, err)
	}
	for _, k := range keys {
		answers[k] = fetchAnswer{err: err}
		if err == nil {
			answers[k] = blockIn(resp, k)
		}
	}
}

func blockIn(resp *sarama.FetchResponse, k fetchKey) fetchAnswer {
	block := resp.GetBlock(k.topic, k.partition)
	switch {
	case block == nil:
		return fetchAnswer{err: sarama.ErrIncompleteResponse}
	case block.Err != sarama.ErrNoError:
		return fetchAnswer{err: block.Err}
	}
	return fetchAnswer{block: block}
}

// isCutShort tells whether there is more behind an offset than the answer holds, of which it
// holds nothing: the batch there was larger than what was asked for, or there was no room.
func (a fetchAnswer) isCutShort(from int64) bool {
	if a.err != nil {
		return errors.Is(a.err, sarama.ErrIncompleteResponse)
	}
	end := a.block.HighWaterMarkOffset
	next, _ := recordsOf(a.block, from, end, func(Record) bool { return true })
	return next == from && from < end
}
