// The measuring client on the Go SDK:
//
//	bench-peer-go SERVER MEASURE COUNT [AT-ONCE]
//
// bench/README.md has the measures and the line that is printed.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	server  = os.Args[1]
	measure = text(2)
	count   = number(3)
	atOnce  = number(4)
	warmUp  = count/5 + 1
)

func text(at int) string {
	if len(os.Args) <= at {
		return ""
	}
	return os.Args[at]
}

func number(at int) int {
	if len(os.Args) <= at {
		return 1
	}
	value, err := strconv.Atoi(os.Args[at])
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(right bool) {
	if !right {
		must(fmt.Errorf("not the answer that was expected"))
	}
}

func connected() *mcp.ClientSession {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	var transport mcp.Transport = &mcp.CommandTransport{Command: exec.Command(server)}
	if strings.HasPrefix(server, "http://") {
		transport = &mcp.StreamableClientTransport{Endpoint: server}
	}
	session, err := client.Connect(context.Background(), transport, nil)
	must(err)
	return session
}

func echo(session *mcp.ClientSession) {
	result, err := session.CallTool(context.Background(),
		&mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}})
	must(err)
	check(len(result.Content[0].(*mcp.TextContent).Text) == 4)
}

func large(session *mcp.ClientSession) {
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "large"})
	must(err)
	check(len(result.Content[0].(*mcp.TextContent).Text) > 4_000_000)
}

func many(session *mcp.ClientSession) {
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "many"})
	must(err)
	check(len(result.StructuredContent.(map[string]any)["rows"].([]any)) > 1000)
}

func cpu() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	micros := func(time syscall.Timeval) float64 { return float64(time.Sec)*1e6 + float64(time.Usec) }
	return micros(usage.Utime) + micros(usage.Stime)
}

type meter struct {
	wall time.Time
	cpu  float64
	each []float64
}

func begin() *meter { return &meter{wall: time.Now(), cpu: cpu()} }

func (m *meter) print(calls int) {
	wall := float64(time.Since(m.wall).Nanoseconds()) / 1e3
	spent := cpu() - m.cpu
	slices.Sort(m.each)
	p50 := 0.0
	if len(m.each) > 0 {
		p50 = m.each[len(m.each)/2]
	}
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	peak, err := strconv.Atoi(string(bytes.Fields(after)[0]))
	must(err)
	fmt.Printf("{\"measure\":%q,\"count\":%d,\"wall_us\":%.3f,\"cpu_us\":%.3f,\"p50_us\":%.3f,\"peak_kib\":%d}\n",
		measure, calls, wall/float64(calls), spent/float64(calls), p50, peak)
}

// atOnce goroutines share `total` rounds of work.
func share(total int, work func()) {
	left := atomic.Int64{}
	left.Store(int64(total))
	var all sync.WaitGroup
	for range atOnce {
		all.Add(1)
		go func() {
			defer all.Done()
			for left.Add(-1) >= 0 {
				work()
			}
		}()
	}
	all.Wait()
}

// One tool over HTTP; prints its URL.
func serve() {
	offered := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	type input struct {
		Text string `json:"text"`
	}
	mcp.AddTool(offered, &mcp.Tool{Name: "echo", Description: "Says it again"},
		func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "said"}}}, nil, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return offered },
		&mcp.StreamableHTTPOptions{JSONResponse: true})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	must(http.Serve(listener, handler))
}

func main() {
	if server == "serve" {
		serve()
	}
	if measure == "connect" {
		m := begin()
		share(count, func() {
			tools, err := connected().ListTools(context.Background(), nil)
			must(err)
			check(len(tools.Tools) == 3)
		})
		m.print(1)
		return
	}
	session := connected()
	if measure == "parallel" {
		share(warmUp, func() { echo(session) })
		m := begin()
		share(count, func() { echo(session) })
		m.print(count)
		return
	}
	call := map[string]func(*mcp.ClientSession){"sequential": echo, "large": large, "many": many}[measure]
	for range warmUp {
		call(session)
	}
	m := begin()
	for range count {
		start := time.Now()
		call(session)
		m.each = append(m.each, float64(time.Since(start).Nanoseconds())/1e3)
	}
	m.print(count)
}
