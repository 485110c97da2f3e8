// parse.go - the peer of pprof: google/pprof's profile package, as packaged with Debian's Go.
//
//	parse FILE [N]       measures profile.Parse, including decompression; prints "wall_s cpu_s" of that call: the
//	                     median of N calls after a first one that grows the heap, or without N a single cold call
//	parse -w IN OUT      reads IN and writes it with that package, so that the input of bench/peers is not written
//	                     by kiln itself
//	parse -z             prints the size of standard input after Go's gzip, which the published figures use
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"syscall"
	"time"

	"github.com/google/pprof/profile"
)

func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "parse:", err)
		os.Exit(1)
	}
}

func rewrite(in, out string) {
	data, err := os.ReadFile(in)
	must(err)
	p, err := profile.ParseData(data)
	must(err)
	f, err := os.Create(out)
	must(err)
	must(p.Write(f))
	must(f.Close())
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func gzipSize() {
	var n counter
	z := gzip.NewWriter(&n)
	_, err := io.Copy(z, os.Stdin)
	must(err)
	must(z.Close())
	fmt.Println(n)
}

func parse(data []byte) (wall, used float64) {
	in := bytes.NewReader(data)
	before, start := cpu(), time.Now()
	p, err := profile.Parse(in)
	wall, used = time.Since(start).Seconds(), cpu()-before
	must(err)
	if len(p.Sample) == 0 {
		os.Exit(1)
	}
	return wall, used
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-z" {
		gzipSize()
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "-w" {
		rewrite(os.Args[2], os.Args[3])
		return
	}
	data, err := os.ReadFile(os.Args[1])
	must(err)
	if len(os.Args) < 3 {
		wall, used := parse(data)
		fmt.Printf("%.6f %.6f\n", wall, used)
		return
	}
	n, err := strconv.Atoi(os.Args[2])
	must(err)
	parse(data)
	walls, useds := make([]float64, n), make([]float64, n)
	for i := range walls {
		walls[i], useds[i] = parse(data)
	}
	sort.Float64s(walls)
	sort.Float64s(useds)
	fmt.Printf("%.6f %.6f\n", walls[n/2], useds[n/2])
}
