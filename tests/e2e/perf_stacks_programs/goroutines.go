// Goroutines with a channel, recursion, sorting, maps and assembler.  They allocate little: garbage collection runs on
// stacks of threads, where no copy contains the goroutine.
package main

import (
	"crypto/sha256"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"time"
)

type worker struct {
	seen  map[string]int
	names []string
	text  []byte
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func newWorker() *worker {
	w := &worker{seen: map[string]int{}}
	for i := 0; i < 500; i++ {
		name := strconv.Itoa(i * 7919 % 10007)
		w.seen[name] = i
		w.names = append(w.names, name)
	}
	return w
}

func (w *worker) work(n int) int {
	sort.Slice(w.names, func(i, j int) bool { return w.seen[w.names[i]]^n < w.seen[w.names[j]]^n })
	w.text = w.text[:0]
	for _, name := range w.names {
		w.text = append(w.text, name...)
		w.text = strconv.AppendFloat(w.text, float64(w.seen[name])/7, 'g', -1, 64)
	}
	sum := sha256.Sum256(w.text)
	return int(sum[0]) + fib(16)
}

func main() {
	until := time.Now().Add(800 * time.Millisecond)
	results := make(chan int, 64)
	var wg sync.WaitGroup
	for i := 0; i < 2; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w := newWorker()
			for n := 0; time.Now().Before(until); n++ {
				results <- w.work(n)
			}
		}()
	}
	go func() { wg.Wait(); close(results) }()
	sum := 0
	for r := range results {
		sum += r
	}
	fmt.Println(sum)
}
