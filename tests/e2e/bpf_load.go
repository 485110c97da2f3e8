// Computes in several goroutines, with garbage to collect, for bpf_walk.
package main

import (
	"crypto/sha256"
	"fmt"
	"sort"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func round(seed int) int {
	m := map[string]int{}
	for i := 0; i < 500; i++ {
		m[fmt.Sprint(i*seed)] = fib(i % 15)
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	sum := sha256.Sum256([]byte(keys[0]))
	return int(sum[0]) + len(keys)
}

func main() {
	for i := 0; i < 2; i++ {
		go func(seed int) {
			for {
				round(seed)
			}
		}(i + 3)
	}
	select {}
}
