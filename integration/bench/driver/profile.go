package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile is a CPU and a heap profile that are being made; nil is none.
type profile struct {
	path string
	cpu  *os.File
}

// startProfile starts profiles in the files path.cpu and path.heap; an empty path is
// none.
func startProfile(path string) (*profile, error) {
	if path == "" {
		return nil, nil
	}
	cpu, err := os.Create(path + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(err, cpu.Close())
	}
	return &profile{path, cpu}, nil
}

// stop ends the CPU profile and writes what was allocated until now.
func (p *profile) stop() error {
	if p == nil {
		return nil
	}
	pprof.StopCPUProfile()
	return errors.Join(p.cpu.Close(), p.writeHeap())
}

func (p *profile) writeHeap() error {
	file, err := os.Create(p.path + ".heap")
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
}
