package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/tieredlog/rlmm/internal/source"
)

// progress shows how much of a long work is done, on a terminal only.
func progress(out io.Writer, what string) source.Progress {
	if f, ok := out.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return func(int64, int64) {}
	}
	return bar(out, what, time.Second)
}

// bar shows nothing of a work that is done before the delay, and clears its line at the
// end.
func bar(out io.Writer, what string, delay time.Duration) source.Progress {
	var b *progressbar.ProgressBar
	began := time.Now()
	return func(done, total int64) {
		if b == nil && time.Since(began) < delay {
			return
		}
		if b == nil {
			b = progressbar.NewOptions64(total, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(what),
				progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		_ = b.Set64(done) // a bar that can't be drawn is no failure
	}
}
