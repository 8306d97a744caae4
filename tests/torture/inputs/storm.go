// SPDX-License-Identifier: MIT

// Goroutines that allocate and free C memory, hand it to each other and call back from C into Go,
// beside a busy garbage collector: what is written into a block must be there when another
// goroutine, on whatever thread, frees it. Prints one line for every part.
package main

/*
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

extern int called_back(void *block, size_t size);

static int call_back(void *block, size_t size) { return called_back(block, size); }

static void *in_thread(void *argument)
{
	size_t size = (size_t)argument;
	char *block = malloc(size);
	memset(block, (int)(size & 127), size);
	size_t right = (size_t)called_back(block, size);
	free(block);
	return (void *)right;
}

static int from_a_thread_of_c(size_t size)
{
	pthread_t thread;
	void *right = NULL;
	if (pthread_create(&thread, NULL, in_thread, (void *)size) != 0)
		return 0;
	pthread_join(thread, &right);
	return right != NULL;
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

type block struct {
	address unsafe.Pointer
	size    C.size_t
	fill    byte
}

func good(b block) bool {
	bytes := unsafe.Slice((*byte)(b.address), int(b.size))
	for i := 0; i < len(bytes); i += 61 {
		if bytes[i] != b.fill {
			return false
		}
	}
	return true
}

//export called_back
func called_back(address unsafe.Pointer, size C.size_t) C.int {
	garbage := make([][]byte, 0, 8)
	for i := 0; i < 8; i++ {
		garbage = append(garbage, make([]byte, 512))
	}
	runtime.KeepAlive(garbage)
	if good(block{address, size, byte(size & 127)}) {
		return 1
	}
	return 0
}

func hand_over(goroutines, rounds int) (int64, int64) {
	var made, wrong int64
	passed := make(chan block, 256)
	var makers, takers sync.WaitGroup
	for g := 0; g < goroutines; g++ {
		makers.Add(1)
		go func(g int) {
			defer makers.Done()
			for i := 0; i < rounds; i++ {
				size := C.size_t((i*7919+g*104729)%5000 + 1)
				if i%199 == 0 {
					size *= 100
				}
				b := block{C.malloc(size), size, byte(i % 251)}
				C.memset(b.address, C.int(b.fill), size)
				if i%5 == 0 {
					b.address = C.realloc(b.address, size*2)
				}
				passed <- b
			}
		}(g)
		takers.Add(1)
		go func() {
			defer takers.Done()
			for b := range passed {
				if !good(b) {
					atomic.AddInt64(&wrong, 1)
				}
				atomic.AddInt64(&made, 1)
				C.free(b.address)
			}
		}()
	}
	makers.Wait()
	close(passed)
	takers.Wait()
	return made, wrong
}

func call_backs(goroutines, rounds int) int64 {
	var right int64
	var all sync.WaitGroup
	for g := 0; g < goroutines; g++ {
		all.Add(1)
		go func(g int) {
			defer all.Done()
			for i := 0; i < rounds; i++ {
				size := C.size_t(i%3000 + 64)
				address := C.malloc(size)
				C.memset(address, C.int(size&127), size)
				atomic.AddInt64(&right, int64(C.call_back(address, size)))
				C.free(address)
			}
		}(g)
	}
	all.Wait()
	return right
}

func threads_of_c(rounds int) int {
	right := 0
	for i := 0; i < rounds; i++ {
		right += int(C.from_a_thread_of_c(C.size_t(i*37%20000 + 64)))
	}
	return right
}

func main() {
	made, wrong := hand_over(16, 20000)
	fmt.Println("ok 1 - handed over", made, "wrong", wrong)
	fmt.Println("ok 2 - called back", call_backs(16, 5000))
	fmt.Println("ok 3 - from threads of C", threads_of_c(500))
	runtime.GC()
	fmt.Println("ok 4 - strings", C.strlen(C.CString("stays")))
}
