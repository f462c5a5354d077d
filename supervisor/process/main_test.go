package process_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/b1213022/bailiff/supervisor/process"
)

// The test binary is also the child: with this variable set it behaves as it
// says and runs no test.
const behaviourVariable = "PROCESS_TEST_BEHAVIOUR"

var behaviours = map[string]func(args []string){
	"exit":         func(args []string) { os.Exit(number(args[0])) },
	"die":          die,
	"catch-term":   catchTerm,
	"read-exactly": readExactly,
}

func TestMain(m *testing.M) {
	if behave := behaviours[os.Getenv(behaviourVariable)]; behave != nil {
		behave(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// self is the Spec of this binary with a behaviour.
func self(behaviour string, args ...string) process.Spec {
	return process.Spec{
		Argv: append([]string{os.Args[0]}, args...),
		Env:  []string{"PATH=" + os.Getenv("PATH"), behaviourVariable + "=" + behaviour, "GORACE=atexit_sleep_ms=0"},
	}
}

// shell is the Spec of a line of sh.
func shell(line string) process.Spec {
	return process.Spec{Argv: []string{"/bin/sh", "-c", line}, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// start starts a child and ends it with the test.
func start(t testing.TB, spec process.Spec) *process.Child {
	t.Helper()
	child, err := process.Start(spec)
	if err != nil {
		t.Fatalf("start %q: %v", spec.Argv, err)
	}
	t.Cleanup(func() {
		child.Kill()
		<-child.Gone()
		if err := child.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return child
}

// lines reads a child's stdout line by line.
func lines(child *process.Child) func(t testing.TB) string {
	reader := bufio.NewReader(child.Stdout)
	return func(t testing.TB) string {
		t.Helper()
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatalf("read a line of the child: %v (it said %q)", err, line)
		}
		return line[:len(line)-1]
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		fail("no number: %q", text)
	}
	return n
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

func die(args []string) {
	signal.Reset()
	_ = syscall.Kill(os.Getpid(), syscall.Signal(number(args[0])))
	select {}
}

// catchTerm says "ready", then "term" at each SIGTERM; with an argument the
// first SIGTERM makes it exit with that status.
func catchTerm(args []string) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM)
	fmt.Println("ready")
	for range caught {
		fmt.Println("term")
		if len(args) > 0 {
			os.Exit(number(args[0]))
		}
	}
}

// readExactly reads that many bytes of stdin, says so, and reads no more.
func readExactly(args []string) {
	n, err := io.ReadFull(os.Stdin, make([]byte, number(args[0])))
	if err != nil {
		fail("read: %v", err)
	}
	fmt.Println("read", n)
	if len(args) > 1 {
		os.Exit(0)
	}
	select {}
}
