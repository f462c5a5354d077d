package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// schema says what may stand in a body: settings, blocks, and what a later
// version will take there.
type schema struct {
	settings map[string]form
	blocks   map[string]*schema
	labelled bool              // the block carries a name and may stand many times
	later    map[string]string // name → what this version does not do
	home     string            // where what stands in it belongs, in words; empty: in the block of its name
}

const forever = maxDuration

// root is the whole file.
var root = &schema{
	home: "at the top level of the file",
	settings: map[string]form{
		"database":     filled,
		"handlers_dir": filled,
		"state_dir":    filled,
		"min_free":     size(0, maxSize),
		"network_fs":   flag,
	},
	blocks: map[string]*schema{
		"lease": {settings: map[string]form{
			"duration": duration(queue.MinLease, queue.MaxLease),
			"renew":    duration(time.Millisecond, queue.MaxLease),
		}},
		"shutdown": {settings: map[string]form{
			"drain": duration(0, forever),
		}},
		"log": {
			settings: map[string]form{
				"level":  oneOf("trace", "debug", "info", "warn", "error"),
				"format": oneOf("text", "json"),
			},
			later: map[string]string{"dir": "keeps no log file per run; a handler's output is in the service's log"},
		},
		"retention": {settings: map[string]form{
			"done":      retained,
			"cancelled": retained,
			"dead":      retained,
		}},
		"backup": {settings: map[string]form{
			"every":  duration(time.Minute, forever),
			"folder": filled,
			"keep":   integer(1, 1000),
		}},
		"defaults": defaultsBody,
		"handler":  handlerBody,
	},
	later: map[string]string{
		"socket":   "opens no socket",
		"http":     "serves no HTTP",
		"on":       "calls nothing when a job ends",
		"schedule": "starts no jobs by the clock",
		"outbox":   "reads no outbox",
		"redact":   "redacts nothing in logs",
	},
}

// shared is what defaults and handler blocks both take.
var shared = map[string]form{
	"protocol":      oneOf(string(Plain), string(Lines)),
	"concurrency":   integer(1, 1000),
	"timeout":       duration(0, forever),
	"start_timeout": duration(time.Millisecond, forever),
	"liveness":      duration(0, forever),
	"grace":         duration(0, forever),
	"idle_timeout":  duration(0, forever),
	"max_jobs":      integer(0, 1_000_000_000),
	"warm":          integer(0, 1000),
	"repeatable":    flag,
	"dir":           filled,
	"env":           variables,
	"inherit_env":   names,
}

var retryBody = &schema{home: "in a handler's block retry { … }", settings: map[string]form{
	"max_attempts": integer(1, queue.MaxAttemptsLimit),
	"base_delay":   duration(time.Millisecond, queue.MaxDelay),
	"max_delay":    duration(time.Millisecond, queue.MaxDelay),
	"jitter":       share,
}}

var exitBody = &schema{home: "in a handler's block exit { … }", settings: map[string]form{
	"dead":  statuses,
	"retry": statuses,
	"other": oneOf(string(OtherRetry), string(OtherUncertain)),
}}

var laterInHandler = map[string]string{
	"limits":      "limits neither memory nor time on the processor",
	"journal":     "keeps no effect journal",
	"scratch":     "makes no scratch folders",
	"user":        "runs handlers as its own user",
	"group":       "runs handlers as its own group",
	"nice":        "does not change a handler's niceness",
	"drain":       "has one drain time for all; see shutdown",
	"prefetch":    "claims a job only when a child is free",
	"on":          "calls nothing when a job ends",
	"redact":      "redacts nothing in logs",
	"cron":        "starts no jobs by the clock",
	"every":       "starts no jobs by the clock",
	"max_running": "has concurrency alone, per supervisor",
	"rate":        "does not space the starts of jobs",
	"breaker":     "does not stop a kind whose jobs fail",
}

var defaultsBody = &schema{
	home:     "for all handlers in defaults { … }",
	settings: shared,
	blocks:   map[string]*schema{"retry": retryBody},
	later:    laterInHandler,
}

var handlerBody = &schema{
	home:     `in a block handler "KIND" { … }`,
	settings: with(shared, "command", argv),
	blocks:   map[string]*schema{"retry": retryBody, "exit": exitBody},
	labelled: true,
	later:    laterInHandler,
}

// sidecarBody is the body of a drop-in's block: its command is the drop-in.
var sidecarBody = &schema{
	settings: shared,
	blocks:   handlerBody.blocks,
	later:    laterInHandler,
}

func with(settings map[string]form, name string, f form) map[string]form {
	more := maps.Clone(settings)
	more[name] = f
	return more
}

// words are the names that may stand in this body.
func (s *schema) words() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range s.settings {
			if !yield(name) {
				return
			}
		}
		for name := range s.blocks {
			if !yield(name) {
				return
			}
		}
	})
}

// bodies yields the whole file's schema and, for each block, its name and schema:
// those of the top level, then those within them. None comes twice.
func bodies(yield func(name string, s *schema) bool) {
	seen := map[*schema]bool{}
	level := map[string]*schema{"": root}
	for len(level) > 0 {
		inner := map[string]*schema{}
		for _, name := range slices.SortedFunc(maps.Keys(level), beforeHandlers) {
			s := level[name]
			if seen[s] {
				continue
			}
			seen[s] = true
			if !yield(name, s) {
				return
			}
			maps.Copy(inner, s.blocks)
		}
		level = inner
	}
}

// beforeHandlers is the order in which people are told of blocks: by name, but
// those that handlers share after all others, and a handler's own before what
// all of them take.
func beforeHandlers(a, b string) int {
	rank := map[string]int{"handler": 1, "defaults": 2, "retry": 3, "exit": 4}
	return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b))
}

// home tells where a name belongs that stands at the wrong level; empty if it
// is known nowhere.
func home(name string) string {
	var homes []string
	for block, s := range bodies {
		if s.settings[name] != nil || s.blocks[name] != nil {
			homes = append(homes, cmp.Or(s.home, "in the block "+block+" { … }"))
		}
	}
	return strings.Join(homes, ", or ")
}

// everyWord is each name that may stand anywhere.
func everyWord() []string {
	var words []string
	for _, s := range bodies {
		words = append(words, s.words()...)
	}
	return words
}
