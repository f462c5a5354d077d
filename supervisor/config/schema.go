package config

import (
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
}

const forever = maxDuration

// root is the whole file.
var root = &schema{
	settings: map[string]form{
		"database":     filled,
		"handlers_dir": filled,
		"state_dir":    filled,
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
		"defaults": defaultsBody,
		"handler":  handlerBody,
	},
	later: map[string]string{
		"retention": "removes no finished jobs",
		"backup":    "makes no backups by itself",
		"socket":    "opens no socket",
		"min_free":  "watches no free space",
		"http":      "serves no HTTP",
		"on":        "calls nothing when a job ends",
		"schedule":  "starts no jobs by the clock",
		"outbox":    "reads no outbox",
		"redact":    "redacts nothing in logs",
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

var retryBody = &schema{settings: map[string]form{
	"max_attempts": integer(1, queue.MaxAttemptsLimit),
	"base_delay":   duration(time.Millisecond, queue.MaxDelay),
	"max_delay":    duration(time.Millisecond, queue.MaxDelay),
	"jitter":       share,
}}

var exitBody = &schema{settings: map[string]form{
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
	settings: shared,
	blocks:   map[string]*schema{"retry": retryBody},
	later:    laterInHandler,
}

var handlerBody = &schema{
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

// home tells where a name belongs that stands at the wrong level; empty if it
// is known nowhere.
func home(name string) string {
	var homes []string
	if root.settings[name] != nil {
		homes = append(homes, "at the top level of the file")
	}
	for _, block := range []string{"lease", "shutdown", "log"} {
		if root.blocks[block].settings[name] != nil {
			homes = append(homes, "in the block "+block+" { … }")
		}
	}
	if handlerBody.settings[name] != nil || handlerBody.blocks[name] != nil {
		homes = append(homes, `in a block handler "KIND" { … }`)
	}
	if defaultsBody.settings[name] != nil || defaultsBody.blocks[name] != nil {
		homes = append(homes, "for all handlers in defaults { … }")
	}
	if retryBody.settings[name] != nil {
		homes = append(homes, "in a handler's block retry { … }")
	}
	if exitBody.settings[name] != nil {
		homes = append(homes, "in a handler's block exit { … }")
	}
	if root.blocks[name] != nil {
		homes = append(homes, "at the top level of the file")
	}
	return strings.Join(homes, ", or ")
}
