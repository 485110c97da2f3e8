// A Go program with C in it, so that it is linked dynamically: goroutines, timers, and calls into C.
package main

/*
static long work(long n)
{
    long s = 0;
    for (long i = 0; i < n; i++) s = (s * 31 + i) % 1000003;
    return s;
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"time"
)

func work(n int64) (s int64) {
	for i := int64(0); i < n; i++ {
		s = (s*31 + i) % 1000003
	}
	return s
}

func main() {
	var wg sync.WaitGroup
	sums := make([]int64, 6)
	for k := range sums {
		wg.Add(1)
		go func(k int) {
			defer wg.Done()
			if k%2 == 0 {
				sums[k] = work(20000000 + int64(k))
			} else {
				sums[k] = int64(C.work(C.long(20000000 + k)))
			}
		}(k)
	}
	start := time.Now()
	time.Sleep(300 * time.Millisecond)
	select {
	case <-make(chan int):
	case <-time.After(300 * time.Millisecond):
	}
	long := time.Since(start) >= 600*time.Millisecond
	wg.Wait()
	fmt.Println(sums, long)
	os.Exit(5)
}
