package config_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
)

func TestPathsAndFilesAreAbsolute(t *testing.T) {
	t.Parallel()
	dir := folder(t, "database = \"data/q.db\"\nhandlers_dir = \"./handlers/\"\n"+
		"backup {\n  folder = \"snapshots\"\n}\n"+
		"handler \"a\" {\n  command = [\"bin/a\"]\n}\nhandler \"b\" {\n  command = [\"sh\", \"-c\", \"true\"]\n}\n"+
		"handler \"c\" {\n  command = [\"./missing\"]\n}\nhandler \"d\" {\n  dir = \"bin\"\n  command = [\"bin/a\"]\n}\n")
	makeDir(t, filepath.Join(dir, "bin"))
	write(t, filepath.Join(dir, "bin", "a"), script, 0o755)
	c := load(t, filepath.Join(dir, "config.hcl"))
	if got := c.Handlers["b"].Command; !slices.Equal(got, []string{"sh", "-c", "true"}) {
		t.Errorf("a program to be looked up: got %q", got)
	}
	for _, test := range []struct{ what, got, want string }{
		{"path", c.Path, dir + "/config.hcl"},
		{"folder", c.Dir, dir},
		{"database", c.Database, dir + "/data/q.db"},
		{"handlers_dir", c.HandlersDir, dir + "/handlers"},
		{"state_dir", c.StateDir, dir + "/state"},
		{"folder of the snapshots", c.Backup.Folder, dir + "/snapshots"},
		{"program", c.Handlers["c"].Command[0], dir + "/missing"},
		{"program of a handler with a folder of its own", c.Handlers["d"].Command[0], dir + "/bin/a"},
		{"file of a path", c.Handlers["a"].File, dir + "/bin/a"},
		{"file that is missing", c.Handlers["c"].File, ""},
		{"file of a handler with a folder of its own", c.Handlers["d"].File, dir + "/bin/a"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", test.what, test.got, test.want)
		}
	}
	if got := c.Handlers["b"].File; filepath.Base(got) != "sh" || !filepath.IsAbs(got) {
		t.Errorf("file of a program found in PATH: got %q", got)
	}
}

// TestFilesOfACommand: its first word, and its second where that is a file; a
// change of either is another version.
func TestFilesOfACommand(t *testing.T) {
	t.Parallel()
	dir := folder(t, `handler "data" {
  command = ["./run.sh", "data.json"]
}
handler "script" {
  command = ["sh", "run.sh"]
}
handler "word" {
  command = ["./run.sh", "now"]
}
handler "absent" {
  command = ["./none", "data.json"]
}
`)
	run, data := filepath.Join(dir, "run.sh"), filepath.Join(dir, "data.json")
	write(t, run, script, 0o755)
	write(t, data, "{}", 0o644)
	c := load(t, filepath.Join(dir, "config.hcl"))
	for kind, want := range map[string][]string{"data": {run, data}, "word": {run}, "absent": {data}} {
		if got := c.Handlers[kind].Files(); !slices.Equal(got, want) {
			t.Errorf("files of %s: got %q, want %q", kind, got, want)
		}
	}
	if got := c.Handlers["script"].Files(); len(got) != 2 || filepath.Base(got[0]) != "sh" || got[1] != run {
		t.Errorf("files of script: got %q, want sh and %s", got, run)
	}
	write(t, run, script+"exit 0\n", 0o755)
	again := load(t, filepath.Join(dir, "config.hcl"))
	for kind, same := range map[string]bool{"data": false, "word": false, "script": false, "absent": true} {
		if again.Handlers[kind].Equal(c.Handlers[kind]) != same {
			t.Errorf("after its program was edited, %s is the same: %v, want %v", kind, !same, same)
		}
	}
}

func TestSecretsArriveExact(t *testing.T) {
	t.Parallel()
	dir := folder(t, `handler "h" {
  command = ["./h"]
  env     = { T = env("TEST_TOKEN"), F = file("secret"), U = "Bearer ${env("TEST_TOKEN")}", G = "$${HOME} %%{x}" }
}
`)
	write(t, filepath.Join(dir, "secret"), " two\nlines \r\n", 0o600)
	h := load(t, filepath.Join(dir, "config.hcl")).Handlers["h"]
	for name, want := range map[string]string{"T": "hunter2", "F": " two\nlines ", "U": "Bearer hunter2", "G": "${HOME} %{x}"} {
		if got := h.Env[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestEqualComparesWhatCounts(t *testing.T) {
	t.Parallel()
	const text = "handler \"h\" {\n  command = [\"./h\"]\n  exit {\n    dead = [64, 67]\n  }\n}\n"
	dir := folder(t, text)
	path := filepath.Join(dir, "config.hcl")
	write(t, filepath.Join(dir, "h"), script, 0o755)
	before := load(t, path).Handlers["h"]
	same := func(text string) bool {
		write(t, path, text, 0o644)
		return before.Equal(load(t, path).Handlers["h"])
	}
	for _, equal := range []string{text, "# a comment\n\n" + text, strings.Replace(text, "64, 67", "67, 64", 1), "defaults {\n}\n" + text, "lease {\n  duration = \"20s\"\n}\n" + text} {
		if !same(equal) {
			t.Errorf("not equal:\n%s", equal)
		}
	}
	for _, different := range []string{
		strings.Replace(text, "64", "66", 1), strings.Replace(text, "./h", "./h2", 1),
		"defaults {\n  grace = \"1s\"\n}\n" + text, "defaults {\n  env = { A = \"\" }\n}\n" + text,
	} {
		if same(different) {
			t.Errorf("equal:\n%s", different)
		}
	}
	write(t, path, text, 0o644)
	write(t, filepath.Join(dir, "h"), script+"exit 0\n", 0o755)
	if before.Equal(load(t, path).Handlers["h"]) {
		t.Error("equal although the handler's program was edited")
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	base := config.Handler{Kind: "h", Timeout: time.Hour}
	with := func(change func(*config.Handler)) *config.Handler {
		h := base
		change(&h)
		return &h
	}
	for name, test := range map[string]struct {
		h    *config.Handler
		want int
	}{
		"longer than the drain":          {&base, 1},
		"without end":                    {with(func(h *config.Handler) { h.Timeout = 0 }), 1},
		"as long as the drain":           {with(func(h *config.Handler) { h.Timeout = time.Minute }), 0},
		"repeatable":                     {with(func(h *config.Handler) { h.Repeatable = true }), 0},
		"liveness that is never reached": {with(func(h *config.Handler) { h.Timeout, h.Liveness = time.Second, time.Minute }), 1},
	} {
		if got := test.h.Promises(time.Minute); len(got) != test.want {
			t.Errorf("%s: got %q, want %d sentences", name, got, test.want)
		}
	}
}

// TestUpkeepDefaults: finished jobs are forgotten without being asked to,
// snapshots are made only where a block says so.
func TestUpkeepDefaults(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	c := load(t, filepath.Join(folder(t, "# nothing\n"), "config.hcl"))
	if want := (queue.Retention{Done: 7 * day, Cancelled: 7 * day, Dead: 180 * day}); c.Retention != want {
		t.Errorf("got retention %+v, want %+v", c.Retention, want)
	}
	if c.Backup != nil || c.MinFree != 64<<20 || c.NetworkFS {
		t.Errorf("got backup %+v, min_free %d, network_fs %v", c.Backup, c.MinFree, c.NetworkFS)
	}
	dir := folder(t, "backup {\n}\nretention {\n  done = \"forever\"\n}\n")
	c = load(t, filepath.Join(dir, "config.hcl"))
	if want := (config.Backup{Every: day, Folder: dir + "/backups", Make: true, Keep: 7}); c.Backup == nil || *c.Backup != want {
		t.Errorf("got backup %+v, want %+v", c.Backup, want)
	}
	if c.Retention.Done != 0 {
		t.Errorf("done jobs are kept for %v, want for ever", c.Retention.Done)
	}
	// What an absolute path names may be on a disk that is not mounted.
	c = load(t, filepath.Join(folder(t, "backup {\n  folder = \"/mnt/snapshots\"\n}\n"), "config.hcl"))
	if c.Backup == nil || c.Backup.Folder != "/mnt/snapshots" || c.Backup.Make {
		t.Errorf("got backup %+v, want no folder made", c.Backup)
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "none.hcl"): "none.hcl: cannot be read: no such file or directory",
		dir:                            "cannot be read: it is a folder",
		"/dev/null":                    "/dev/null: cannot be read: it is no regular file",
	} {
		_, err := config.Load(path)
		var failed *config.Error
		if !errors.As(err, &failed) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// uncomment makes settings of the lines that begin with a # and no space.
func uncomment(text string) string {
	return regexp.MustCompile(`(?m)^#([^ \n]| +[a-z_]+ += | +[a-z]+ \{| +\}$)`).ReplaceAllString(text, "$1")
}

// TestDefaultTextTellsTheTruth: what the commented file shows as defaults are
// the defaults, of each setting there is.
func TestDefaultTextTellsTheTruth(t *testing.T) {
	t.Parallel()
	dir := folder(t, config.Default("/anywhere"))
	commented := load(t, filepath.Join(dir, "config.hcl"))
	if len(commented.Handlers) != 0 {
		t.Errorf("the text defines handlers %q", kinds(commented))
	}
	dir = folder(t, uncomment(config.Default("/anywhere")))
	shown := load(t, filepath.Join(dir, "config.hcl"))
	write(t, filepath.Join(dir, "config.hcl"), "handler \"example\" {\n  command = [\"./example.sh\", \"--fast\"]\n}\n", 0o644)
	plain := load(t, filepath.Join(dir, "config.hcl"))
	if shown.Database != plain.Database || shown.HandlersDir != plain.HandlersDir || shown.StateDir != plain.StateDir ||
		shown.Lease != plain.Lease || shown.Shutdown != plain.Shutdown || shown.Log != plain.Log ||
		shown.MinFree != plain.MinFree || shown.NetworkFS != plain.NetworkFS || shown.Retention != plain.Retention ||
		!maps.EqualFunc(shown.Handlers, plain.Handlers, (*config.Handler).Equal) {
		t.Error("the settings shown are not the defaults")
	}
	for _, protocol := range []string{"plain", "lines"} {
		text := uncomment(config.Default("/anywhere"))
		if protocol == "lines" {
			text = strings.Replace(text, `= "plain"`, `= "lines"`, 1)
			text = text[:strings.Index(text, "# Of a plain handler")] + "}\n"
		}
		dir := folder(t, text)
		for _, s := range load(t, filepath.Join(dir, "config.hcl")).Effective() {
			if s.From == "default" && s.Name != "journal" {
				t.Errorf("%s: %s %s is not in the text", protocol, s.Block, s.Name)
			}
			if s.Name == "protocol" && s.Value != `"`+protocol+`"` {
				t.Errorf("got protocol %s, want %s", s.Value, protocol)
			}
		}
	}
}

func TestShippedConfiguration(t *testing.T) {
	t.Parallel()
	const path = "../../config.hcl"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), config.Default("/anywhere")) {
		t.Error("config.hcl does not begin with the default text")
	}
	c := load(t, path)
	h := c.Handlers["wordcount"]
	if h == nil || !slices.Equal(h.Command, []string{filepath.Join(h.Dir, "bin/wordcount")}) || h.Protocol != config.Lines {
		t.Errorf("got wordcount %+v", h)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("got warnings %v", c.Warnings)
	}
}

func TestDefaultPlaces(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/ann/.config")
	t.Setenv("XDG_STATE_HOME", "/home/ann/.local/state")
	for dir, want := range map[string][3]string{
		"/etc/bailiff/":             {"/var/lib/bailiff/bailiff.db", "/run/bailiff", "/var/lib/bailiff/backups"},
		"/home/ann/.config/bailiff": {"/home/ann/.local/state/bailiff/bailiff.db", "/home/ann/.local/state/bailiff/state", "/home/ann/.local/state/bailiff/backups"},
		"/home/ann/project":         {"bailiff.db", "state", "backups"},
	} {
		text := config.Default(dir)
		if !strings.Contains(text, `database     = "`+want[0]+`"`) || !strings.Contains(text, `state_dir    = "`+want[1]+`"`) ||
			!strings.Contains(text, `folder = "`+want[2]+`"`) {
			t.Errorf("%s: got\n%s", dir, text)
		}
	}
}

func TestFind(t *testing.T) {
	home, here, named := t.TempDir(), t.TempDir(), t.TempDir()
	t.Chdir(here)
	t.Setenv("BAILIFF_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", home)
	if exists := config.SystemFile; fileExists(exists) {
		t.Skip(exists + " exists on this machine")
	}
	find := func(explicit, want string) {
		t.Helper()
		if got, err := config.Find(explicit); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	refuse := func(explicit string, want ...string) {
		t.Helper()
		_, err := config.Find(explicit)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got error %v, want one that is fs.ErrNotExist", err)
		}
		for _, place := range want {
			if !strings.Contains(err.Error(), place) {
				t.Errorf("%q is not named in %v", place, err)
			}
		}
	}
	refuse("", "./config.hcl", home+"/.config/bailiff/config.hcl", config.SystemFile)
	makeDir(t, home+"/.config/bailiff")
	write(t, home+"/.config/bailiff/config.hcl", "# nothing\n", 0o644)
	find("", home+"/.config/bailiff/config.hcl")
	write(t, here+"/config.hcl", "# nothing\n", 0o644)
	find("", "config.hcl")
	write(t, named+"/b.hcl", "# nothing\n", 0o644)
	t.Setenv("BAILIFF_CONFIG", named+"/b.hcl")
	find("", named+"/b.hcl")
	find("config.hcl", "config.hcl")
	refuse("x.hcl", "x.hcl", "--config")
	t.Setenv("BAILIFF_CONFIG", named+"/c.hcl")
	refuse("", named+"/c.hcl", "BAILIFF_CONFIG")
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
