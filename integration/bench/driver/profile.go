package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// startCPU starts a CPU profile in the file path.cpu; an empty path is none. stop ends
// it.
func startCPU(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(path + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// writeHeap writes what is in use now, and what was allocated until now, to the file
// path.heap; an empty path is none.
func writeHeap(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path + ".heap")
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.Lookup("heap").WriteTo(file, 0), file.Close())
}
