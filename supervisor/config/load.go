package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/b1213022/bailiff/queue"
)

// maxFile bounds a configuration file or sidecar, in bytes.
const maxFile = 1 << 20

// Load reads, checks and completes the configuration at path together with
// the drop-in handlers of its handlers_dir. The error is an *Error that names
// everything that is wrong, not only the first thing. Load never waits for a
// file, and changes nothing.
func Load(path string) (*Config, error) {
	l := &loader{given: path, config: &Config{Handlers: map[string]*Handler{}}, stateDirGuessed: true}
	l.load()
	if len(l.errors) > 0 {
		return nil, &Error{Diagnostics: inOrder(l.errors), StateDir: l.config.StateDir, StateDirGuessed: l.stateDirGuessed,
			Database: l.database, sources: l.config.sources}
	}
	l.config.Warnings = inOrder(l.warnings)
	return l.config, nil
}

// loader is one Load.
type loader struct {
	given           string // the path as the caller wrote it
	config          *Config
	stateDirGuessed bool     // the file may say another one
	database        string   // empty: in doubt
	defaults        *section // nil without a block of that name
	errors          []Diagnostic
	warnings        []Diagnostic
}

func (l *loader) load() {
	c := l.config
	path, err := filepath.Abs(l.given)
	if err != nil {
		l.fail(place{l.given, 0}, "no absolute path: "+err.Error(), "")
		return
	}
	c.Path, c.Dir = path, filepath.Dir(path)
	l.checkWriters(path)
	ours := len(l.errors) == 0 // nobody else can have written it
	file, ok := l.read(path, root, "")
	if !ok {
		l.findStateDir()
		return
	}
	f := &filler{}
	c.fill(f, file)
	l.stateDirGuessed = file.failed["state_dir"]
	if ours && file.settles("database") {
		l.database = c.Database
	}
	l.checkLease(file)
	l.defaults = file.blocks["defaults"]
	l.checkBody(l.defaults, "defaults")
	for _, block := range file.named {
		l.addBlock(block)
	}
	l.addDropIns()
	for _, kind := range slices.Sorted(maps.Keys(c.Handlers)) {
		f.list = append(f.list, c.Handlers[kind].settings...)
	}
	c.settings = f.list
}

// findStateDir looks for state_dir in a file that cannot be trusted otherwise:
// the parser keeps what stands before the mistake it could not get over.
func (l *loader) findStateDir() {
	c := l.config
	c.StateDir = in(c.Dir, DefaultStateDir)
	text, err := readRegular(c.Path, maxFile)
	if err != nil {
		return
	}
	parsed, _ := hclsyntax.ParseConfig(text, c.Path, hcl.InitialPos)
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok || body.Attributes["state_dir"] == nil {
		return
	}
	v, problems := body.Attributes["state_dir"].Expr.Value(nil)
	if problems.HasErrors() || v.IsNull() || !v.IsWhollyKnown() || v.Type() != cty.String || v.AsString() == "" {
		return
	}
	c.StateDir, l.stateDirGuessed = in(c.Dir, v.AsString()), false
}

// read reads one file by a schema. Not ok means that nothing of it can be used.
func (l *loader) read(path string, s *schema, where string) (*section, bool) {
	c, at := l.config, place{l.name(path), 0}
	c.see(path, content)
	text, err := readRegular(path, maxFile)
	if err != nil {
		l.fail(at, "cannot be read: "+err.Error(), "")
		return nil, false
	}
	body, problems, aside := parse(text, at.file)
	l.errors = append(l.errors, problems...)
	if body == nil {
		return nil, false
	}
	dir := filepath.Dir(path)
	r := &sectionReader{file: at.file, dir: dir, aside: aside, list: &l.errors,
		eval: functions(dir, func(secret string) { c.see(secret, content) })}
	sec := r.read(body, s, where, place{at.file, 1})
	sec.parsed, sec.whole = len(problems) == 0, !r.lost
	return sec, true
}

// addBlock adds the handler of a block of the config file.
func (l *loader) addBlock(block named) {
	where := fmt.Sprintf("handler %q", block.label)
	if err := queue.ValidKind(block.label); err != nil {
		l.fail(block.at, fmt.Sprintf("%s: its name is no kind", where), kindRule(block.label))
		return
	}
	command, set := block.values["command"]
	if !set {
		if !block.failed["command"] {
			l.fail(block.at, where+" has no command", `write command = ["./`+block.label+`.sh"], a list of arguments`)
		}
		return
	}
	h := &Handler{Kind: block.label, Source: block.at.String(), Command: slices.Clone(command.data.([]string))}
	if strings.Contains(h.Command[0], "/") {
		h.Command[0] = in(l.config.Dir, h.Command[0])
	}
	h.ShownCommand = slices.Clone(h.Command)
	for i := range h.ShownCommand {
		if command.secrets[strconv.Itoa(i)] {
			h.ShownCommand[i] = secretText
		}
	}
	f := &filler{}
	take(f, where, "command", []string(nil), block.section)
	if command.secrets["0"] {
		l.fail(command.at, "command: its first word names the program, which is no secret", "write it out; what env() or file() gave is never printed")
		return
	}
	if command.secret {
		l.warn(command.at, "command: what env() or file() gave shows in the list of processes", "pass it in env instead")
	}
	l.finish(h, f, block.section)
	var likely string
	if h.Program, h.File, likely = commandFiles(h); likely != "" {
		l.config.see(likely, version) // so that it is noticed when it is built
	}
	l.add(h)
}

// finish fills in what is common to blocks and drop-ins and checks it; own may
// be nil.
func (l *loader) finish(h *Handler, f *filler, own *section) {
	h.fill(f, own, l.defaults, l.config.Dir)
	h.settings = f.list
	l.checkHandler(h, own)
}

// add puts a finished handler into the configuration.
func (l *loader) add(h *Handler) {
	for _, path := range h.Files() {
		l.checkWriters(path)
		h.Version += l.config.see(path, version) + "\n"
	}
	l.config.Handlers[h.Kind] = h
}

func (l *loader) fail(at place, summary, detail string) {
	l.errors = append(l.errors, at.diagnose(summary, detail))
}

func (l *loader) warn(at place, summary, detail string) {
	l.warnings = append(l.warnings, at.diagnose(summary, detail))
}

// name is how people are told of a path: relative to where the path given to
// Load was.
func (l *loader) name(path string) string {
	if path == l.config.Path {
		return l.given
	}
	inside, err := filepath.Rel(l.config.Dir, path)
	if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
		return path
	}
	return filepath.Join(filepath.Dir(l.given), inside)
}

// kindRule says what a kind is and, where that is easy, what this name would
// have to be.
func kindRule(name string) string {
	rule := fmt.Sprintf("a kind has 1 to %d of a-z 0-9 . _ - and begins with a letter or digit", queue.MaxKindLength)
	better := strings.ToLower(strings.NewReplacer(" ", "-", "/", "-").Replace(name))
	if better != name && queue.ValidKind(better) == nil {
		rule += fmt.Sprintf("; %q would do", better)
	}
	return rule
}
