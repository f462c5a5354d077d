package proof

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// partVariable names the part that the test binary plays instead of testing.
const partVariable = "BAILIFF_PROOF_PART"

// parts are what the test binary can do as another process. Each gets its
// arguments, and tells on standard output what came of it.
var parts = map[string]func(ctx context.Context, args []string) error{}

// atEnd are called when all tests have run.
var atEnd []func()

func TestMain(m *testing.M) {
	part := os.Getenv(partVariable)
	if part == "" {
		status := m.Run()
		for _, f := range atEnd {
			f()
		}
		os.Exit(status)
	}
	if err := parts[part](context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, part+":", err)
		os.Exit(1)
	}
}

// child is another process that plays a part.
func child(t testing.TB, part string, args ...any) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	for _, a := range args {
		cmd.Args = append(cmd.Args, fmt.Sprint(a))
	}
	cmd.Env = append(os.Environ(), partVariable+"="+part)
	cmd.Stderr = os.Stderr
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// memoryFolder is a folder of the test's own that no disk is slow for, where the
// machine has one.
func memoryFolder(t testing.TB) string {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "bailiff-proof-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
