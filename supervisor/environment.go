package supervisor

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/supervisor/config"
)

// systemPath is the search path where the service itself was started without
// one, as init systems do.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// passedOn names what every handler gets from the service's own environment.
var passedOn = []string{"HOME", "LANG", "TZ"}

// Environment is what a child of h finds in its environment before it has a
// job: PATH with the folder of binary first, HOME, LANG, TZ,
// PYTHONUNBUFFERED=1, then inherit_env, env and BAILIFF_*, the later winning.
// Nothing else of the service's environment reaches a handler, so that its
// secrets do not. The service, Try and a check before either build the same.
//
// database and binary are absolute paths; an empty one is left out. The answer
// is sorted and each name is there once.
func Environment(h *config.Handler, database, binary string) []string {
	vars := map[string]string{"PATH": searchPath(binary), "PYTHONUNBUFFERED": "1"}
	for _, names := range [][]string{passedOn, h.InheritEnv} {
		for _, name := range names {
			if value, ok := os.LookupEnv(name); ok && name != "PATH" {
				vars[name] = value
			}
		}
	}
	maps.Copy(vars, h.Env)
	if h.Protocol == config.Lines {
		set(vars, childproto.LinesEnv())
	}
	if database != "" {
		vars["BAILIFF_DB"] = database
	}
	if binary != "" {
		vars["BAILIFF_BIN"] = binary
	}
	return list(vars)
}

// EnvironmentPath is the PATH of an environment: where a handler's command is
// looked for.
func EnvironmentPath(env []string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return value
		}
	}
	return ""
}

// searchPath is the service's own PATH with the folder of binary first, so
// that a handler can call bailiff by its name.
func searchPath(binary string) string {
	path := os.Getenv("PATH")
	if path == "" {
		path = systemPath
	}
	if binary == "" {
		return path
	}
	return filepath.Dir(binary) + string(os.PathListSeparator) + path
}

// withJob adds what tells a plain child of its job.
func withJob(env []string, job *childproto.Job, outcomeFile string) []string {
	vars := make(map[string]string, len(env)+16)
	set(vars, env)
	set(vars, childproto.PlainEnv(job))
	vars["BAILIFF_OUTCOME"] = outcomeFile
	return list(vars)
}

func set(vars map[string]string, env []string) {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
}

func list(vars map[string]string) []string {
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}
