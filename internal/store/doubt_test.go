package store

import "testing"

// A doubted store is of no use to who opens it next, whatever became of the process that
// doubted; one that is believed again is.
func TestDoubtedStoreIsBuiltAnew(t *testing.T) {
	want := Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}
	for _, c := range []struct {
		name  string
		do    func(*Store) error
		reset Reset
	}{
		{"doubted", (*Store).Doubt, ResetForeign},
		{"doubted twice", func(s *Store) error { _ = s.Doubt(); return s.Doubt() }, ResetForeign},
		{"believed", func(s *Store) error { _ = s.Doubt(); return s.Believe() }, ResetNone},
		{"never doubted", (*Store).Believe, ResetNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filled(t)
			s := opened(t, dir, want, ResetNone)
			noError(t, c.do(s))
			reset, err := s.Check(want)
			noError(t, err)
			wantSame(t, "reason of the open store", c.reset, reset)
			noError(t, s.Close())
			s = opened(t, dir, want, c.reset)
			noError(t, s.Close())
			opened(t, dir, want, ResetNone)
		})
	}
}

func TestDoubtThatCantBeWritten(t *testing.T) {
	s := opened(t, filled(t), Expect{Identity: identity, TableEnd: end, MaxAge: anyAge}, ResetNone)
	s.dir += "/gone"
	if s.Doubt() == nil {
		t.Error("no error")
	}
}
