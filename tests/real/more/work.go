// SPDX-License-Identifier: MIT

// Goroutines, and C memory by cgo: its calls of malloc are what the recorder sees.
package main

// #include <stdlib.h>
// #include <string.h>
import "C"
import (
	"fmt"
	"sync"
	"unsafe"
)

func main() {
	var wait sync.WaitGroup
	sums := make([]int, 16)
	for n := range sums {
		wait.Add(1)
		go func(n int) {
			defer wait.Done()
			for i := 1; i <= 500; i++ {
				text := C.CString(fmt.Sprint(i * n))
				sums[n] += int(C.strlen(text))
				C.free(unsafe.Pointer(text))
			}
		}(n)
	}
	wait.Wait()
	fmt.Println(sums)
}
