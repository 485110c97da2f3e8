// Goroutines with channels, maps, sorting and recursion.
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func words(n int) int {
	seen := map[string]int{}
	for i := 0; i < n; i++ {
		seen[strings.Repeat("a", i%17)+fmt.Sprint(i%61)]++
	}
	names := make([]string, 0, len(seen))
	for k := range seen {
		names = append(names, k)
	}
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	return len(names)
}

func main() {
	until := time.Now().Add(800 * time.Millisecond)
	results := make(chan int, 16)
	var wg sync.WaitGroup
	for w := 0; w < 4; w++ {
		wg.Add(1)
		go func(w int) {
			defer wg.Done()
			for time.Now().Before(until) {
				results <- fib(18) + words(200*(w+1))
			}
		}(w)
	}
	go func() { wg.Wait(); close(results) }()
	sum := 0
	for r := range results {
		sum += r
	}
	fmt.Println(sum)
}
