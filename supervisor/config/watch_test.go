package config_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/supervisor/config"
)

// reload is one call of onChange: what Load answered then.
type reload struct {
	config *config.Config
	err    error
}

// watch runs a watcher as a service would, until the test ends.
func watch(t *testing.T, path string) <-chan reload {
	t.Helper()
	return watchFrom(t, load(t, path))
}

func watchFrom(t *testing.T, first *config.Config) <-chan reload {
	t.Helper()
	reloads := make(chan reload, 100)
	w := config.NewWatcher(hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- w.Run(ctx, first, func() {
			c, err := config.Load(first.Path)
			if err != nil {
				w.FollowFailed(err)
			} else {
				w.Follow(c)
			}
			reloads <- reload{c, err}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the watcher ended with %v", err)
		}
	})
	return reloads
}

// next is the next reload; it must be a good one.
func next(t *testing.T, reloads <-chan reload) *config.Config {
	t.Helper()
	r := await(t, reloads)
	if r.err != nil {
		t.Fatalf("the reload failed: %v", r.err)
	}
	return r.config
}

func await(t *testing.T, reloads <-chan reload) reload {
	t.Helper()
	select {
	case r := <-reloads:
		return r
	case <-t.Context().Done():
	case <-time.After(time.Minute): // so that a failure is told rather than a hang
	}
	t.Fatal("the change was never noticed")
	return reload{}
}

// drained is a configuration that differs by its drain time alone.
func drained(seconds int) string {
	return fmt.Sprintf("shutdown {\n  drain = \"%ds\"\n}\nhandler \"h\" {\n  command = [\"./h\"]\n}\n", seconds)
}

// until awaits the reload with this drain time: a replacement may be seen in
// two steps.
func until(t *testing.T, reloads <-chan reload, seconds int) {
	t.Helper()
	for {
		r := await(t, reloads)
		if r.err == nil && r.config.Shutdown.Drain == time.Duration(seconds)*time.Second {
			return
		}
	}
}

func TestEveryWayToSaveIsNoticedEveryTime(t *testing.T) {
	t.Parallel()
	for name, save := range map[string]func(t *testing.T, path, text string){
		"in place": func(t *testing.T, path, text string) { write(t, path, text, 0o644) },
		"write and rename": func(t *testing.T, path, text string) {
			write(t, path+".new", text, 0o644)
			rename(t, path+".new", path)
		},
		"move away and write anew": func(t *testing.T, path, text string) {
			rename(t, path, path+"~")
			write(t, path, text, 0o644)
		},
		"remove and write anew": func(t *testing.T, path, text string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			write(t, path, text, 0o644)
		},
		"sed -i": func(t *testing.T, path, text string) {
			c := load(t, path)
			change := fmt.Sprintf(`s/drain = "%ds"/drain = "%ss"/`, int(c.Shutdown.Drain.Seconds()), drainOf(t, text))
			if out, err := exec.Command("sed", "-i", change, path).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, drained(100))
			path := filepath.Join(dir, "config.hcl")
			reloads := watch(t, path)
			for round := 1; round <= 4; round++ {
				save(t, path, drained(100+round))
				until(t, reloads, 100+round)
			}
		})
	}
}

func drainOf(t *testing.T, text string) string {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(text, "shutdown {\n  drain = \"%ds", &n); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(n)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// swap points a link elsewhere as Kubernetes does: a new link, renamed over it.
func swap(t *testing.T, target, path string) {
	t.Helper()
	symlink(t, target, path+"_tmp")
	rename(t, path+"_tmp", path)
}

func TestSwappedLinksAreNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := 1; i <= 3; i++ {
		version := filepath.Join(dir, "..v"+strconv.Itoa(i))
		makeDir(t, filepath.Join(version, "handlers"))
		write(t, filepath.Join(version, "c.hcl"), "shutdown {\n  drain = \""+strconv.Itoa(i)+"s\"\n}\n", 0o644)
		write(t, filepath.Join(version, "handlers", "k"+strconv.Itoa(i)+".sh"), script, 0o755)
	}
	symlink(t, "..v1", filepath.Join(dir, "..data"))
	symlink(t, "..data/c.hcl", filepath.Join(dir, "c.hcl"))
	symlink(t, "..data/handlers", filepath.Join(dir, "handlers"))
	reloads := watch(t, filepath.Join(dir, "c.hcl"))
	for i := 2; i <= 3; i++ {
		swap(t, "..v"+strconv.Itoa(i), filepath.Join(dir, "..data"))
		c := next(t, reloads)
		if got, want := kinds(c), "k"+strconv.Itoa(i); got != want || c.Shutdown.Drain != time.Duration(i)*time.Second {
			t.Errorf("swap %d: got kinds %q and drain %s, want %q", i, got, c.Shutdown.Drain, want)
		}
	}
	// In the folder that the links lead to now:
	write(t, filepath.Join(dir, "..v3", "handlers", "more.sh"), script, 0o755)
	if got := kinds(next(t, reloads)); got != "k3 more" {
		t.Errorf("got kinds %q, want k3 more", got)
	}
}

func TestDropInsComeAndGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.hcl"), "# nothing\n", 0o644)
	reloads := watch(t, filepath.Join(dir, "config.hcl"))
	path := filepath.Join(dir, "handlers", "mail.sh")
	expect := func(act, want string) *config.Config {
		t.Helper()
		c := next(t, reloads)
		if got := kinds(c); got != want {
			t.Fatalf("%s: got kinds %q, want %q", act, got, want)
		}
		return c
	}
	makeDir(t, filepath.Join(dir, "handlers"))
	expect("the folder is made", "")
	write(t, path, script, 0o644)
	expect("a file without execute bit", "")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	before := expect("the execute bit", "mail")
	write(t, path, script+"exit 0\n", 0o755)
	if expect("it is edited", "mail").Handlers["mail"].Equal(before.Handlers["mail"]) {
		t.Error("an edited handler is equal to what it was")
	}
	write(t, filepath.Join(dir, "handlers", "mail.hcl"), "timeout = \"3s\"\n", 0o644)
	if got := expect("a sidecar", "mail").Handlers["mail"].Timeout; got != 3*time.Second {
		t.Errorf("got timeout %s, want 3s", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect("it is removed", "")
}

func TestOtherFilesThatCountAreNoticed(t *testing.T) {
	t.Parallel()
	dir, elsewhere := folder(t, "handler \"h\" {\n  command = [\"bin/h\"]\n  env     = { T = file(\"secret/token\") }\n}\n"), t.TempDir()
	makeDir(t, filepath.Join(dir, "secret"))
	write(t, filepath.Join(dir, "secret", "token"), "one", 0o600)
	makeDir(t, filepath.Join(dir, "bin"))
	reloads := watch(t, filepath.Join(dir, "config.hcl"))
	write(t, filepath.Join(dir, "secret", "token"), "two", 0o600)
	if got := next(t, reloads).Handlers["h"].Env["T"]; got != "two" {
		t.Errorf("got secret %q, want the new one", got)
	}
	write(t, filepath.Join(elsewhere, "h"), script, 0o755)
	symlink(t, filepath.Join(elsewhere, "h"), filepath.Join(dir, "bin", "h"))
	built := next(t, reloads).Handlers["h"]
	if built.File != filepath.Join(dir, "bin", "h") {
		t.Errorf("the program that was built is not found: %q", built.File)
	}
	write(t, filepath.Join(elsewhere, "h.new"), script+"exit 1\n", 0o755)
	rename(t, filepath.Join(elsewhere, "h.new"), filepath.Join(elsewhere, "h"))
	if next(t, reloads).Handlers["h"].Version == built.Version {
		t.Error("a program that was replaced has the same version")
	}
}

func TestMendingIsNoticedAfterABadFile(t *testing.T) {
	t.Parallel()
	dir := folder(t, drained(1))
	path := filepath.Join(dir, "config.hcl")
	reloads := watch(t, path)
	write(t, path, drained(2)+"env = file(\"token\")\ndefaults {\n  env = { T = file(\"token\") }\n}\n", 0o644)
	if r := await(t, reloads); r.err == nil {
		t.Fatal("the bad file was taken")
	}
	write(t, path, drained(2)+"defaults {\n  env = { T = file(\"token\") }\n}\n", 0o644)
	if r := await(t, reloads); r.err == nil {
		t.Fatal("the bad file was taken")
	}
	write(t, filepath.Join(dir, "token"), "x", 0o600) // the file that only the bad one names
	until(t, reloads, 2)
}

func TestWhatChangedBeforeWatchingBeganIsNoticed(t *testing.T) {
	t.Parallel()
	dir := folder(t, drained(1))
	path := filepath.Join(dir, "config.hcl")
	first := load(t, path)
	write(t, path, drained(2), 0o644)
	until(t, watchFrom(t, first), 2)
}

// A slow writer truncates the file and holds it open. Its first half is a valid
// configuration without the handler.
func TestFileStillBeingWrittenIsNotRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("who has a file open for writing cannot be found out here")
	}
	dir := folder(t, drained(1))
	path := filepath.Join(dir, "config.hcl")
	reloads := watch(t, path)
	text := drained(2)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(70 * time.Millisecond)
	defer tick.Stop()
	for len(text) > 0 {
		n := min(8, len(text))
		if _, err := f.WriteString(text[:n]); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
		<-tick.C
		if len(text) < 30 {
			<-tick.C // longer than the quiet after which a burst is over
			<-tick.C
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := next(t, reloads); got.Shutdown.Drain != 2*time.Second || kinds(got) != "h" {
		t.Errorf("half a file was taken: drain %s, kinds %q", got.Shutdown.Drain, kinds(got))
	}
}

func TestEmptyFileIsNoConfiguration(t *testing.T) {
	t.Parallel()
	dir := folder(t, drained(1))
	path := filepath.Join(dir, "config.hcl")
	reloads := watch(t, path)
	for round := 2; round <= 4; round++ {
		write(t, path, "", 0o644)
		if r := await(t, reloads); r.err == nil {
			t.Fatalf("an empty file was taken: kinds %q", kinds(r.config))
		}
		write(t, path, drained(round), 0o644)
		until(t, reloads, round)
	}
}
