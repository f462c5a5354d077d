package config

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// The defaults. A renew that is not set is a third of the lease's duration, a
// dir that is not set is the config's folder.
const (
	DefaultDatabase    = "bailiff.db"
	DefaultHandlersDir = "handlers"
	DefaultStateDir    = "state"

	DefaultLeaseDuration = 30 * time.Second
	DefaultDrain         = 30 * time.Second
	DefaultLogLevel      = "info"
	DefaultLogFormat     = "text"
	DefaultMinFree       = 64 << 20

	DefaultKeepDone      = 7 * 24 * time.Hour
	DefaultKeepCancelled = 7 * 24 * time.Hour
	DefaultKeepDead      = 180 * 24 * time.Hour

	// Of a backup block; without one no snapshots are made.
	DefaultBackupEvery  = 24 * time.Hour
	DefaultBackupFolder = "backups"
	DefaultBackupKeep   = 7

	DefaultProtocol     = Plain
	DefaultConcurrency  = 1
	DefaultTimeout      = time.Hour
	DefaultStartTimeout = 2 * time.Minute
	DefaultLiveness     = time.Duration(0)
	DefaultGrace        = 10 * time.Second
	DefaultIdleTimeout  = 10 * time.Minute
	DefaultMaxJobs      = 0
	DefaultWarm         = 0

	DefaultMaxAttempts = 20
	DefaultBaseDelay   = 10 * time.Second
	DefaultMaxDelay    = time.Hour
	DefaultJitter      = 0.1
	DefaultOther       = OtherRetry
)

// filler takes settings out of sections, the first that has one wins, and
// keeps a list of what is in force and where it came from.
type filler struct {
	list []Setting
}

// take answers the setting called name of the first section that holds it,
// else fallback.
func take[T any](f *filler, block, name string, fallback T, sections ...*section) T {
	for _, s := range sections {
		if s == nil {
			continue
		}
		if v, set := s.values[name]; set {
			shown := format(v.data)
			if v.secret {
				shown = secretText
			}
			f.list = append(f.list, Setting{Block: block, Name: name, Value: shown, From: v.at.String()})
			return v.data.(T)
		}
	}
	f.list = append(f.list, Setting{Block: block, Name: name, Value: format(fallback), From: "default"})
	return fallback
}

// takePath is take for a path, which starts where the file that names it lies.
func takePath(f *filler, block, name, fallback, dir string, sections ...*section) string {
	path := take(f, block, name, fallback, sections...)
	for _, s := range sections {
		if s == nil {
			continue
		}
		if _, set := s.values[name]; set {
			dir = s.dir
			break
		}
	}
	return in(dir, path)
}

// takeVariables joins the variables of all sections; of two with one name the
// first section's counts.
func takeVariables(f *filler, block string, sections ...*section) map[string]string {
	joined := map[string]string{}
	from := map[string]value{}
	for _, s := range slices.Backward(sections) {
		if s == nil {
			continue
		}
		v, set := s.values["env"]
		if !set {
			continue
		}
		for name, text := range v.data.(map[string]string) {
			joined[name] = text
			from[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(joined)) {
		shown := quote(joined[name])
		if from[name].secrets[name] {
			shown = secretText
		}
		f.list = append(f.list, Setting{Block: block, Name: "env." + name, Value: shown, From: from[name].at.String()})
	}
	return joined
}

// takeNames joins the names of all sections, sorted, each once.
func takeNames(f *filler, block string, sections ...*section) []string {
	var joined []string
	var from []string
	for _, s := range sections {
		if s == nil {
			continue
		}
		if v, set := s.values["inherit_env"]; set {
			joined = append(joined, v.data.([]string)...)
			from = append(from, v.at.String())
		}
	}
	slices.Sort(joined)
	joined = slices.Compact(joined)
	f.list = append(f.list, Setting{Block: block, Name: "inherit_env", Value: format(joined),
		From: cmp.Or(strings.Join(from, ", "), "default")})
	return joined
}

// fill makes the top level and its blocks of what the file says.
func (c *Config) fill(f *filler, file *section) {
	c.Database = takePath(f, "", "database", DefaultDatabase, c.Dir, file)
	c.HandlersDir = takePath(f, "", "handlers_dir", DefaultHandlersDir, c.Dir, file)
	c.StateDir = takePath(f, "", "state_dir", DefaultStateDir, c.Dir, file)
	c.MinFree = int64(take(f, "", "min_free", byteSize(DefaultMinFree), file))
	c.NetworkFS = take(f, "", "network_fs", false, file)
	lease := file.blocks["lease"]
	c.Lease.Duration = take(f, "lease", "duration", DefaultLeaseDuration, lease)
	c.Lease.Renew = take(f, "lease", "renew", c.Lease.Duration/3, lease)
	c.Shutdown.Drain = take(f, "shutdown", "drain", DefaultDrain, file.blocks["shutdown"])
	c.Log.Level = take(f, "log", "level", DefaultLogLevel, file.blocks["log"])
	c.Log.Format = take(f, "log", "format", DefaultLogFormat, file.blocks["log"])
	keep := file.blocks["retention"]
	c.Retention = queue.Retention{
		Done:      time.Duration(take(f, "retention", "done", retention(DefaultKeepDone), keep)),
		Cancelled: time.Duration(take(f, "retention", "cancelled", retention(DefaultKeepCancelled), keep)),
		Dead:      time.Duration(take(f, "retention", "dead", retention(DefaultKeepDead), keep)),
	}
	c.Backup = fillBackup(f, file.blocks["backup"], c.Dir)
}

// fillBackup makes the plan for snapshots of its block; without one there is none.
func fillBackup(f *filler, block *section, dir string) *Backup {
	if block == nil {
		f.list = append(f.list, Setting{Name: "backup", Value: noneText, From: "default"})
		return nil
	}
	given, _ := block.values["folder"].data.(string)
	return &Backup{
		Every:  take(f, "backup", "every", DefaultBackupEvery, block),
		Folder: takePath(f, "backup", "folder", DefaultBackupFolder, dir, block),
		Make:   !filepath.IsAbs(given),
		Keep:   take(f, "backup", "keep", DefaultBackupKeep, block),
	}
}

// fill makes a handler of its own section and the defaults section, either of
// which may be nil; dir is the config's folder. Settings that mean nothing
// under its protocol stay zero and are not listed.
func (h *Handler) fill(f *filler, own, defaults *section, dir string) {
	block := `handler ` + strconv.Quote(h.Kind)
	h.Protocol = Protocol(take(f, block, "protocol", string(DefaultProtocol), own, defaults))
	h.Concurrency = take(f, block, "concurrency", DefaultConcurrency, own, defaults)
	h.Timeout = take(f, block, "timeout", DefaultTimeout, own, defaults)
	h.Liveness = take(f, block, "liveness", DefaultLiveness, own, defaults)
	h.Grace = take(f, block, "grace", DefaultGrace, own, defaults)
	if h.Protocol == Lines {
		h.StartTimeout = take(f, block, "start_timeout", DefaultStartTimeout, own, defaults)
		h.IdleTimeout = take(f, block, "idle_timeout", DefaultIdleTimeout, own, defaults)
		h.MaxJobs = take(f, block, "max_jobs", DefaultMaxJobs, own, defaults)
		h.Warm = take(f, block, "warm", DefaultWarm, own, defaults)
	}
	h.Repeatable = take(f, block, "repeatable", false, own, defaults)
	h.Dir = takePath(f, block, "dir", ".", dir, own, defaults)
	h.Env = takeVariables(f, block, own, defaults)
	h.InheritEnv = takeNames(f, block, own, defaults)

	block, outer := block+" retry", []*section{own.block("retry"), defaults.block("retry")}
	h.Retry.MaxAttempts = take(f, block, "max_attempts", DefaultMaxAttempts, outer...)
	h.Retry.BaseDelay = take(f, block, "base_delay", DefaultBaseDelay, outer...)
	h.Retry.MaxDelay = take(f, block, "max_delay", DefaultMaxDelay, outer...)
	h.Retry.Jitter = take(f, block, "jitter", DefaultJitter, outer...)

	if h.Protocol == Plain {
		block = `handler ` + strconv.Quote(h.Kind) + " exit"
		h.Exit.Dead = take(f, block, "dead", []int(nil), own.block("exit"))
		h.Exit.Retry = take(f, block, "retry", []int(nil), own.block("exit"))
		h.Exit.Other = Other(take(f, block, "other", string(DefaultOther), own.block("exit")))
	}
}

// block is the inner section of that name; nil if there is none.
func (s *section) block(name string) *section {
	if s == nil {
		return nil
	}
	return s.blocks[name]
}

// format writes a value as it would be written in a file.
func format(data any) string {
	switch d := data.(type) {
	case string:
		return quote(d)
	case bool:
		return strconv.FormatBool(d)
	case int:
		return strconv.Itoa(d)
	case float64:
		return strconv.FormatFloat(d, 'g', -1, 64)
	case time.Duration:
		return quote(formatDuration(d))
	case retention:
		if d == 0 {
			return quote(keptForever)
		}
		return quote(formatDuration(time.Duration(d)))
	case byteSize:
		return quote(formatSize(d))
	case []string:
		words := make([]string, len(d))
		for i, w := range d {
			words[i] = quote(w)
		}
		return "[" + strings.Join(words, ", ") + "]"
	case []int:
		words := make([]string, len(d))
		for i, n := range d {
			words[i] = strconv.Itoa(n)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	panic("config: a form that format does not know")
}

// secretText stands for what env() or file() gave, noneText for a block that is
// not there and has no defaults then.
const (
	secretText = "(secret)"
	noneText   = "(none)"
)

// quote writes a text as HCL would have it.
func quote(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}
