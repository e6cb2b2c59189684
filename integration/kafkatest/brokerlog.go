package kafkatest

import (
	"bytes"
	"os"
	"slices"
	"strings"
)

// brokerLog writes the output of a broker to its log file and watches for lines that
// say that it is up.
type brokerLog struct {
	file    *os.File
	line    []byte   // the start of a line that isn't complete yet
	missing []string // texts not seen yet, each part of one line
	ready   chan struct{}
}

// openBrokerLog appends to the file; ready is closed once each text was seen.
func openBrokerLog(path string, texts ...string) (*brokerLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &brokerLog{file: file, missing: texts, ready: make(chan struct{})}, err
}

// Write is called by one goroutine, that which copies the output of the process.
func (l *brokerLog) Write(p []byte) (int, error) {
	if len(l.missing) > 0 {
		l.watch(p)
	}
	return l.file.Write(p)
}

func (l *brokerLog) watch(p []byte) {
	l.line = append(l.line, p...)
	for {
		line, rest, complete := bytes.Cut(l.line, []byte{'\n'})
		if !complete {
			return
		}
		l.line = rest
		l.see(string(line))
	}
}

func (l *brokerLog) see(line string) {
	if len(l.missing) == 0 {
		return
	}
	l.missing = slices.DeleteFunc(l.missing, func(text string) bool { return strings.Contains(line, text) })
	if len(l.missing) == 0 {
		close(l.ready)
	}
}

// tail returns the last lines of a file, and why when it can't.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
