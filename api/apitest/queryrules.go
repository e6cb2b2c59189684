package apitest

import "github.com/tieredlog/rlmm/internal/scenario"

// queryScripts are the rules of the queries, in the format of the scenarios: an event or
// a query a line, `highest` in the contract's mode only and `bounded` in Kafka's.
var queryScripts = []scenario.Script{
	{Name: "a look-up includes both ends", Text: `
			add A [10,20] {0:10}
			fin A
			get 0/9 -> none
			get 0/10 -> A
			get 0/20 -> A
			get 0/21 -> none`},
	{Name: "a look-up is bounded by the epoch within the segment", Text: `
			add A [0,99] {0:0,1:40,3:70}
			fin A
			get 0/39 -> A
			get 0/40 -> none
			get 1/39 -> none
			get 1/40 -> A
			get 1/69 -> A
			get 1/70 -> none
			get 2/50 -> none
			get 3/69 -> none
			get 3/99 -> A`},
	{Name: "an epoch that began before the segment begins with it", Text: `
			add A [50,99] {0:0}
			fin A
			get 0/49 -> none
			get 0/50 -> A
			bounded 0 -> 99`},
	{Name: "an epoch that is empty within the segment has no offset", Text: `
			add A [0,99] {0:0,1:40,2:40,3:100}
			fin A
			get 1/39 -> none
			get 1/40 -> none
			get 2/40 -> A
			get 3/99 -> none
			get 3/100 -> none
			next 1/0 -> none
			next 3/0 -> none
			list 1 -> A
			highest 1 -> 99
			bounded 1 -> 39
			bounded 2 -> 99
			bounded 3 -> 99`},
	{Name: "of several the one that begins last is found", Text: `
			add A [50,99] {0:50}
			fin A
			add B [0,199] {0:0}
			fin B
			get 0/49 -> B
			get 0/50 -> A
			get 0/99 -> A
			get 0/100 -> B`},
	{Name: "what counts is where it begins within the epoch", Text: `
			add A [0,99] {0:0,1:60}
			fin A
			add B [50,99] {1:50}
			fin B
			get 1/55 -> B
			get 1/70 -> A`},
	{Name: "of those that begin together the one first finished last is found", Text: `
			add A [0,99] {0:0}
			add B [0,99] {0:0}
			fin B
			fin A
			get 0/50 -> A
			fin B
			get 0/50 -> A
			ds A
			get 0/50 -> B`},
	{Name: "a superset doesn't hide what it doesn't contain", Text: `
			add A [0,200] {0:0}
			fin A
			add B [0,100] {0:0}
			fin B
			get 0/50 -> B
			get 0/150 -> A`},
	{Name: "a long segment is found behind many short ones", Text: `
			add A [0,1000] {0:0}
			fin A
			add B [10,19] {0:10}
			fin B
			add C [30,39] {0:30}
			fin C
			add D [50,59] {0:50}
			fin D
			get 0/55 -> D
			get 0/60 -> A
			get 0/25 -> A
			get 0/1000 -> A
			get 0/1001 -> none`},
	{Name: "the deletion of the winner reveals the other", Text: `
			add A [0,99] {0:0}
			fin A
			add B [50,99] {0:50}
			fin B
			get 0/70 -> B
			ds B
			get 0/70 -> A
			df B
			get 0/70 -> A`},
	{Name: "the highest offset is that of finished segments", Text: `
			add A [0,99] {0:0}
			highest 0 -> none
			bounded 0 -> none
			fin A
			add B [100,199] {0:100}
			highest 0 -> 99
			bounded 0 -> 99
			fin B
			highest 0 -> 199
			bounded 0 -> 199
			highest 1 -> none
			bounded 1 -> none`},
	{Name: "the highest offset is the segment's end, or with bounds the epoch's", Text: `
			add A [0,99] {0:0,1:50}
			fin A
			highest 0 -> 99
			highest 1 -> 99
			bounded 0 -> 49
			bounded 1 -> 99`},
	{Name: "the highest offset is the greatest, not the last", Text: `
			add A [0,199] {0:0}
			fin A
			add B [50,99] {0:50}
			fin B
			highest 0 -> 199
			bounded 0 -> 199`},
	{Name: "the highest offset goes with the segment, or with bounds stays", Text: `
			add A [0,99] {0:0}
			fin A
			add B [100,199] {0:100}
			fin B
			ds B
			highest 0 -> 99
			bounded 0 -> 199
			df B
			highest 0 -> 99
			bounded 0 -> 199
			ds A
			df A
			highest 0 -> none
			bounded 0 -> 199
			add C [0,49] {0:0}
			fin C
			highest 0 -> 49
			bounded 0 -> 199`},
	{Name: "a segment that was never finished has no highest offset", Text: `
			add A [0,99] {0:0}
			ds A
			df A
			highest 0 -> none
			bounded 0 -> none`},
	{Name: "lists are by start offset, then id", Text: `
			add C [100,199] {0:100}
			add B [0,99] {0:0}
			add D [0,10] {0:0}
			add A [100,150] {0:100}
			list -> B D A C
			list 0 -> B D A C`},
	{Name: "lists have every state but the last", Text: `
			add A [0,9] {0:0}
			add B [10,19] {0:10}
			fin B
			add C [20,29] {0:20}
			ds C
			add D [30,39] {0:30}
			fin D
			ds D
			df D
			list -> A B C
			list 0 -> A B C`},
	{Name: "a list by epoch has the segments that carry it", Text: `
			add A [0,99] {0:0,2:50}
			add B [100,199] {2:100,3:150}
			list 0 -> A
			list 1 -> none
			list 2 -> A B
			list 3 -> B
			list -> A B`},
	{Name: "the size is of finished segments that carry the epoch, each whole", Text: `
			add A [0,99] {0:0,1:50} size=1
			size 0 -> 0
			fin A
			add B [100,199] {1:100} size=2
			fin B
			add C [200,299] {1:200} size=4
			size 0 -> 1
			size 1 -> 3
			size 2 -> 0
			fin B
			size 1 -> 3
			ds B
			size 1 -> 1
			df B
			size 1 -> 1`},
	{Name: "the size has more than 32 bits", Text: `
			add A [0,9] {0:0} size=2147483647
			fin A
			add B [10,19] {0:10} size=2147483647
			fin B
			size 0 -> 4294967294`},
	{Name: "the next segment with a transaction index contains the offset or follows it", Text: `
			add A [0,99] {0:0}
			next 0/0 -> none
			fin A
			add B [100,199] {0:100} notxn
			fin B
			add C [200,299] {0:200}
			fin C
			next 0/0 -> A
			next 0/99 -> A
			next 0/100 -> C
			next 0/299 -> C
			next 0/300 -> none
			next 1/0 -> none
			ds C
			next 0/100 -> none`},
	{Name: "gaps don't end the search for a transaction index", Text: `
			add A [0,99] {0:0} notxn
			fin A
			add B [500,599] {0:500}
			fin B
			next 0/0 -> B
			next 0/100 -> B
			next 0/400 -> B`},
	{Name: "the search for a transaction index is bounded by the epoch", Text: `
			add A [0,99] {0:0,1:50}
			fin A
			next 0/49 -> A
			next 0/50 -> none
			next 1/0 -> A
			next 1/99 -> A`},
	{Name: "of several with a transaction index the first is next, then by id", Text: `
			add C [0,199] {0:0}
			fin C
			add A [50,99] {0:50}
			fin A
			add B [0,149] {0:0}
			fin B
			next 0/60 -> B
			next 0/150 -> C
			next 0/200 -> none`},
}
