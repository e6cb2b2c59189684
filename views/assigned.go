package views

// assignment is the assigned metadata partitions, at their numbers; nil is one that isn't
// assigned. It is never changed, only replaced. A slice, since each read looks into it.
type assignment []*partition

// of returns nil for a partition that isn't assigned.
func (a assignment) of(number int32) *partition {
	if int(number) >= len(a) {
		return nil
	}
	return a[number]
}

// all iterates over the assigned partitions, ascending.
func (a assignment) all(yield func(int32, *partition) bool) {
	for number, p := range a {
		if p != nil && !yield(int32(number), p) {
			return
		}
	}
}

func (a assignment) len() (n int) {
	for range a.all {
		n++
	}
	return n
}

func (a assignment) numbers() (numbers []int32) {
	for number := range a.all {
		numbers = append(numbers, number)
	}
	return numbers
}
