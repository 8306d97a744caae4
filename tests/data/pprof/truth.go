// SPDX-License-Identifier: MIT
// Allocates known numbers of objects of known sizes at four sites, keeps some, and writes a heap profile and
// what is true: truth PROFILE TRUTH [RATE [TEXT]]. Sizes are size classes of the runtime, so that nothing is
// rounded up. TEXT is the same profile in its text form: no garbage collection ends between the two, and Go
// publishes what was allocated and freed only when one ends.
package main

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
)

type site struct {
	Function string
	Size     int
	Objects  int
	Live     int
}

var kept [][]byte
var sink []byte

//go:noinline
func small(n int) []byte { return make([]byte, 64) }

//go:noinline
func medium(n int) []byte { return make([]byte, 2048) }

//go:noinline
func large(n int) []byte { return make([]byte, 262144) }

//go:noinline
func huge(n int) []byte { return make([]byte, 1<<20) }

func run(f func(int) []byte, objects, every int) (live int) {
	for i := 0; i < objects; i++ {
		sink = f(i)
		if every > 0 && i%every == 0 {
			kept = append(kept, sink)
			live++
		}
	}
	return live
}

func init() {
	if len(os.Args) > 3 {
		runtime.MemProfileRate, _ = strconv.Atoi(os.Args[3])
	}
}

func write(path string, form int) {
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	if err := pprof.Lookup("heap").WriteTo(file, form); err != nil {
		panic(err)
	}
	file.Close()
}

func main() {
	sites := []site{
		{"main.small", 64, 2000000, 0}, {"main.medium", 2048, 50000, 0},
		{"main.large", 262144, 400, 0}, {"main.huge", 1 << 20, 150, 0}}
	kept = make([][]byte, 0, 600000)
	sites[0].Live = run(small, sites[0].Objects, 4)
	sites[1].Live = run(medium, sites[1].Objects, 3)
	sites[2].Live = run(large, sites[2].Objects, 5)
	sites[3].Live = run(huge, sites[3].Objects, 10)
	sink = nil
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	debug.SetGCPercent(-1)
	write(os.Args[1], 0)
	if len(os.Args) > 4 {
		write(os.Args[4], 1)
	}
	text, _ := json.Marshal(sites)
	os.WriteFile(os.Args[2], text, 0o644)
	runtime.KeepAlive(kept)
}
