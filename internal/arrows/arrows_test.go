// Package arrows holds no code: its test keeps the arrows between the packages
// pointing one way, and each third-party module in its one home.
package arrows

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const module = "github.com/b1213022/bailiff/"

// may says which packages of ours each package may import, tests left aside.
// A package that is not listed may not exist: give it its place here first.
var may = map[string][]string{
	"internal/strictjson":  {},
	"internal/shellword":   {},
	"internal/arrows":      {},
	"internal/proof":       {}, // only tests
	"queue":                {"internal/strictjson"},
	"queue/clock":          {"queue"},
	"queue/queuetest":      {"queue", "queue/clock"},
	"queue/sqlite":         {"internal/shellword", "queue", "queue/clock"},
	"childproto":           {"internal/strictjson"},
	"supervisor/process":   {"internal/shellword"},
	"supervisor/config":    {"queue"},
	"supervisor/upkeep":    {"queue"},
	"supervisor":           {"queue", "childproto", "supervisor/process", "supervisor/config"},
	"cmd/bailiff":          {"internal/shellword", "internal/strictjson", "queue", "queue/clock", "queue/sqlite", "childproto", "supervisor", "supervisor/process", "supervisor/config", "supervisor/upkeep", "handlers"},
	"handlers":             {},
	"handlers/wordcount":   {"childproto"},
	"handlers/handlertest": {},
	"examples/demo":        {"childproto"},
}

// home says where a third-party package may be imported. hclog is everywhere:
// constructors take a logger.
var home = map[string][]string{
	"github.com/mattn/go-sqlite3":       {"queue/sqlite"},
	"github.com/fsnotify/fsnotify":      {"supervisor/config", "queue/sqlite"},
	"github.com/hashicorp/hcl/v2":       {"supervisor/config"},
	"github.com/zclconf/go-cty":         {"supervisor/config"},
	"github.com/oklog/run":              {"cmd/bailiff"},
	"github.com/spf13/cobra":            {"cmd/bailiff"},
	"github.com/schollz/progressbar":    {"cmd/bailiff", "examples/demo"},
	"github.com/rogpeppe/go-internal":   {},
	"github.com/creack/pty":             {},
	"encoding/json":                     {}, // too lenient: go-json-experiment reads and writes all JSON here
	"github.com/hashicorp/go-hclog":     {"queue/sqlite", "supervisor", "supervisor/config", "supervisor/upkeep", "cmd/bailiff"},
	"github.com/agext/levenshtein":      {"supervisor/config", "cmd/bailiff"},
	"golang.org/x/term":                 {"cmd/bailiff", "examples/demo"},
	"pgregory.net/rapid":                {},
	"github.com/anishathalye/porcupine": {},
}

func TestArrowsPointOneWay(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	dec := jsontext.NewDecoder(bytes.NewReader(out))
	for dec.PeekKind() != 0 {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		seen++
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, listed := may[name]
		if !listed {
			t.Errorf("package %s has no place in the table: say what it may import", name)
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, module); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s: the arrows go cmd → supervisor → queue, childproto (docs/design.md)", name, ours)
			}
			for third, homes := range home {
				if (imp == third || strings.HasPrefix(imp, third+"/")) && !slices.Contains(homes, name) {
					t.Errorf("%s imports %s, whose home is %v", name, imp, homes)
				}
			}
		}
	}
	if seen < len(may) {
		t.Errorf("the table has %d packages, go list shows %d: remove what is gone", len(may), seen)
	}
}
