package process_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/b1213022/bailiff/supervisor/process"
)

// put writes an executable file, closed, with these bytes.
func put(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// What keeps a command from starting is said in words, by Start and by Diagnose
// alike. In want, DIR stands for the folder of the case.
func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	const path = "/usr/bin:/bin"
	for _, c := range []struct {
		name string
		argv []string // "h" where nil
		make func(t *testing.T, dir string)
		want string
	}{
		{
			name: "nothing",
			argv: []string{},
			want: "the command is empty",
		},
		{
			name: "no file",
			argv: []string{"./none.sh"},
			want: "DIR/none.sh: does not exist",
		},
		{
			name: "dangling link",
			make: func(t *testing.T, dir string) {
				if err := os.Symlink("moved.sh", dir+"/h"); err != nil {
					t.Fatal(err)
				}
			},
			want: "DIR/h: is a link to moved.sh, which does not exist",
		},
		{
			name: "folder",
			make: func(t *testing.T, dir string) {
				if err := os.Mkdir(dir+"/h", 0o755); err != nil {
					t.Fatal(err)
				}
			},
			want: "DIR/h: is a folder, not a program",
		},
		{
			name: "pipe",
			make: func(t *testing.T, dir string) {
				if err := syscall.Mkfifo(dir+"/h", 0o755); err != nil {
					t.Fatal(err)
				}
			},
			want: "DIR/h: is not a regular file",
		},
		{
			name: "no execute bit",
			make: func(t *testing.T, dir string) {
				if err := os.WriteFile(dir+"/h", []byte("#!/bin/sh\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			want: "DIR/h: no execute bit. chmod +x DIR/h",
		},
		{
			name: "not in PATH",
			argv: []string{"bailiff-test-no-such-program"},
			want: "bailiff-test-no-such-program: not found by PATH=" + path,
		},
		{
			name: "carriage return",
			make: content("#!/bin/sh\r\necho\r\n"),
			want: `DIR/h: its #! line ends in CR LF, so the system looks for "/bin/sh\r". sed -i 's/\r$//' DIR/h`,
		},
		{
			name: "carriage return for env",
			make: content("#!/usr/bin/env python3\r\nprint()\r\n"),
			want: `DIR/h: its #! line ends in CR LF, so the system looks for "/usr/bin/env python3\r". sed -i 's/\r$//' DIR/h`,
		},
		{
			name: "byte-order mark",
			make: content("\xef\xbb\xbf#!/bin/sh\necho\n"),
			want: `DIR/h: begins with a byte-order mark before "#!", so the system does not see it. sed -i '1s/^\xEF\xBB\xBF//' DIR/h`,
		},
		{
			name: "no interpreter named",
			make: content("#! \necho\n"),
			want: "DIR/h: its #! line names no interpreter",
		},
		{
			name: "interpreter missing",
			make: content("#!/usr/bin/pyton3 -u\nprint()\n"),
			want: "DIR/h: its interpreter /usr/bin/pyton3 does not exist",
		},
		{
			name: "interpreter relative to the folder",
			make: content("#!lib/run\n"),
			want: "DIR/h: its interpreter lib/run does not exist",
		},
		{
			name: "interpreter is a folder",
			make: content("#!/usr/bin\n"),
			want: "DIR/h: its interpreter /usr/bin is a folder, not a program",
		},
		{
			name: "interpreter is a script that is broken",
			make: func(t *testing.T, dir string) {
				put(t, dir+"/run", "#!/no/such/shell\n")
				put(t, dir+"/h", "#!"+dir+"/run\n")
			},
			want: "DIR/h: its interpreter DIR/run: its interpreter /no/such/shell does not exist",
		},
		{
			name: "interpreter by env missing",
			make: content("#!/usr/bin/env bailiff-test-pyton\n"),
			want: "DIR/h: its interpreter, by env: bailiff-test-pyton: not found by PATH=" + path,
		},
		{
			name: "interpreter by env -S missing",
			make: content("#!/usr/bin/env -S bailiff-test-pyton -u\n"),
			want: "DIR/h: its interpreter, by env: bailiff-test-pyton: not found by PATH=" + path,
		},
		{
			name: "env with two words",
			make: content("#!/usr/bin/env sh -e\n"),
			want: `DIR/h: its #! line makes env look for a program called "sh -e"; write "#!/usr/bin/env -S sh -e" (or name sh alone)`,
		},
		{
			name: "no #! line",
			make: content("echo hello\n"),
			want: `DIR/h: has no #! line, so the system does not know what runs it; make its first line "#!/bin/sh"`,
		},
		{
			name: "no #! line in Python",
			argv: []string{"./h.py"},
			make: func(t *testing.T, dir string) { put(t, dir+"/h.py", "print()\n") },
			want: `DIR/h.py: has no #! line, so the system does not know what runs it; make its first line "#!/usr/bin/env python3"`,
		},
		{
			name: "empty",
			make: content(""),
			want: "DIR/h: is empty",
		},
		{
			name: "name to quote",
			argv: []string{"./it's"},
			make: func(t *testing.T, dir string) {
				if err := os.WriteFile(dir+"/it's", nil, 0o644); err != nil {
					t.Fatal(err)
				}
			},
			want: `DIR/it's: no execute bit. chmod +x 'DIR/it'\''s'`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			argv := c.argv
			if argv == nil {
				argv = []string{"./h"}
			}
			if c.make != nil {
				c.make(t, dir)
			}
			want := strings.ReplaceAll(c.want, "DIR", dir)
			_, err := process.Start(process.Spec{Argv: argv, Dir: dir, Env: []string{"PATH=" + path}})
			refused(t, "Start", err, want)
			refused(t, "Diagnose", process.Diagnose(argv, dir, path), want)
		})
	}
}

func content(text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { put(t, dir+"/h", text) }
}

func refused(t *testing.T, who string, err error, want string) {
	t.Helper()
	var startErr *process.StartError
	if !errors.As(err, &startErr) {
		t.Errorf("%s: %v, want a *StartError", who, err)
		return
	}
	if err.Error() != want {
		t.Errorf("%s says\n%s\nwant\n%s", who, err, want)
	}
	if startErr.TooLong() {
		t.Errorf("%s: TooLong() of a file that cannot start", who)
	}
}

func TestFolderToRunIn(t *testing.T) {
	t.Parallel()
	file := put(t, filepath.Join(t.TempDir(), "file"), "")
	for dir, want := range map[string]string{
		"/no/such/folder": "sh: the folder it is to run in, /no/such/folder: no such file or directory",
		file:              "sh: what it is to run in, " + file + ", is not a folder",
	} {
		_, err := process.Start(process.Spec{Argv: []string{"sh"}, Dir: dir, Env: []string{"PATH=/bin"}})
		refused(t, "Start", err, want)
		refused(t, "Diagnose", process.Diagnose([]string{"sh"}, dir, "/bin"), want)
	}
}

// What starts must not be diagnosed as broken.
func TestStarts(t *testing.T) {
	t.Parallel()
	for _, first := range []string{
		"#!/bin/sh",
		"#! /bin/sh -e",
		"#!\t/bin/sh\t-e ",
		"#!/usr/bin/env sh",
		"#!/usr/bin/env -S sh -e",
		"#!/usr/bin/env -S A=b sh",
		"#!/usr/bin/env -S -i sh",
		"#!/usr/bin/env /bin/sh",
	} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir+"/h", first+"\nexit 4\n")
			if err := process.Diagnose([]string{"./h"}, dir, "/usr/bin:/bin"); err != nil {
				t.Errorf("Diagnose: %v", err)
			}
			child := start(t, process.Spec{Argv: []string{"./h"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}})
			if got := child.Exit(); got != (process.Exit{Code: 4}) {
				t.Errorf("it ended with %v", got)
			}
			if child.Path != dir+"/h" {
				t.Errorf("Path = %q", child.Path)
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s3cret", 50_000)
	for _, c := range []struct {
		spec process.Spec
		want string
	}{
		{
			process.Spec{Argv: []string{"/bin/true"}, Env: []string{"PATH=/bin", "META=" + secret}},
			"META has 300005",
		},
		{
			process.Spec{Argv: []string{"/bin/true", secret}, Env: []string{"PATH=/bin"}},
			"argument 1 has 300000",
		},
	} {
		_, err := process.Start(c.spec)
		var startErr *process.StartError
		if !errors.As(err, &startErr) || !startErr.TooLong() {
			t.Errorf("Start: %v, want one that is too long", err)
			continue
		}
		if !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Start says %.200q, want it to end in %q", err, c.want)
		}
	}
}

func TestNULByte(t *testing.T) {
	t.Parallel()
	_, err := process.Start(process.Spec{Argv: []string{"/bin/echo", "a\x00b"}})
	refused(t, "Start", err, "/bin/echo: an argument or a variable of its environment holds a NUL byte")
}

// A program that was only just copied, while other programs are started, is not
// refused for being open for writing in some process half-way to its exec.
func TestJustWritten(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	bytes, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 25 {
				file := fmt.Sprintf("%s/true-%d-%d", dir, worker, i)
				if err := os.WriteFile(file, bytes, 0o755); err != nil {
					t.Error(err)
					return
				}
				child, err := process.Start(process.Spec{Argv: []string{file}})
				if err != nil {
					t.Error(err)
					return
				}
				child.Kill()
				<-child.Gone()
				_ = child.Close()
			}
		})
	}
	all.Wait()
}

// A file that is being written is waited for.
func TestBeingWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "h")
	writer, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.WriteString("#!/bin/sh\nexit 6\n"); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = writer.Close() })
	child := start(t, process.Spec{Argv: []string{file}})
	if got := child.Exit(); got != (process.Exit{Code: 6}) {
		t.Errorf("it ended with %v", got)
	}
	if err := writer.Close(); !errors.Is(err, os.ErrClosed) {
		t.Error("it started while the file was open for writing")
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"one", "two", "here"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir+"/one/both", "")
	put(t, dir+"/two/both", "")
	put(t, dir+"/two/second", "")
	put(t, dir+"/two/shy", "")
	put(t, dir+"/here/tool", "")
	if err := os.WriteFile(dir+"/one/shy", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/one/useless", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	path := dir + "/one:" + dir + "/two"
	for _, c := range []struct{ name, path, want, refusal string }{
		{name: "both", path: path, want: dir + "/one/both"},
		{name: "second", path: path, want: dir + "/two/second"},
		{name: "shy", path: path, want: dir + "/two/shy"},
		{name: "useless", path: path, refusal: "useless: not found by PATH=" + path + "; " + dir + "/one/useless no execute bit. chmod +x " + dir + "/one/useless"},
		{name: "./tool", path: path, want: dir + "/here/tool"},
		{name: "../one/both", path: path, want: dir + "/one/both"},
		{name: dir + "/two/both", path: "", want: dir + "/two/both"},
		{name: "tool", path: ":.:" + path, refusal: "tool: not found by PATH=:.:" + path},
		{name: "both", path: "", refusal: "both: not found: its environment has no PATH"},
		{name: "", path: path, refusal: "the command is empty"},
	} {
		got, err := process.LookPath(c.name, dir+"/here", c.path)
		if c.refusal != "" {
			refused(t, "LookPath", err, c.refusal)
			continue
		}
		if got != c.want || err != nil {
			t.Errorf("LookPath(%q) = %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	_, err := process.LookPath("none", "", path)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not os.ErrNotExist", err)
	}
}

// A child that nobody wants any more is not started, also when the file becomes
// free only then.
func TestStopKeepsFromStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := process.Spec{Argv: []string{put(t, dir+"/h", "#!/bin/sh\n: >"+dir+"/ran\n")}}
	wanted := func(stop chan struct{}) error {
		spec.Stop = stop
		child, err := process.Start(spec)
		if err == nil {
			child.Kill()
			<-child.Gone()
			_ = child.Close()
		}
		return err
	}

	stopped := make(chan struct{})
	close(stopped)
	refused(t, "Start", wanted(stopped), dir+"/h: not wanted any more")

	writer, err := os.OpenFile(dir+"/h", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	stop, answer := make(chan struct{}), make(chan error)
	go func() { answer <- wanted(stop) }()
	close(stop)
	if err := <-answer; !errors.Is(err, process.ErrStopped) {
		t.Errorf("Start of a busy file, told to stop: %v", err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("it ran although it was stopped before")
	}
}
