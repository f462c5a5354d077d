package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

// unhandled is what to say about a job just accepted that no handler of the
// configuration will take; empty where one will, or where there is no
// configuration to tell.
func (a *app) unhandled(ctx context.Context, q *sqlite.Queue, j *queue.Job) string {
	cfg := a.mayConfig()
	if cfg == nil || cfg.Handlers[j.Kind] != nil {
		return ""
	}
	if file := meantFile(j.Kind, cfg.Warnings, waitingOf(ctx, q, j.Kind)); file != "" {
		return fmt.Sprintf("%s accepted, but %s", name(j), file)
	}
	near := ""
	if kind := config.Nearest(j.Kind, slices.Collect(maps.Keys(cfg.Handlers))); kind != "" {
		near = fmt.Sprintf(" (did you mean %q?)", kind)
	}
	return fmt.Sprintf("accepted as #%d, but no handler is called %q%s: it waits. %s", j.ID, escape(j.Kind), near, a.command("cancel %d", j.ID))
}

// noHandler is the error for a kind that no handler has, with what to do.
func (a *app) noHandler(ctx context.Context, kind string, cfg *config.Config) error {
	err := usage("no handler is called %q", kind)
	var k queue.KindMetrics
	if q, openErr := a.open(ctx, sqlite.Options{}); openErr == nil {
		k = waitingOf(ctx, q, kind)
		q.Close()
	}
	kinds := slices.Sorted(maps.Keys(cfg.Handlers))
	if file := meantFile(kind, cfg.Warnings, k); file != "" {
		return advise(err, "%s", file)
	}
	if near := config.Nearest(kind, kinds); near != "" {
		return advise(err, "did you mean %s?", near)
	}
	return advise(err, "handlers: %s", strings.Join(kinds, " "))
}

// waitingOf counts the jobs of a kind; none where that cannot be told now.
func waitingOf(ctx context.Context, q *sqlite.Queue, kind string) queue.KindMetrics {
	m, err := q.Metrics(ctx)
	if err != nil {
		return queue.KindMetrics{}
	}
	return m.Kinds[kind]
}

// unhandledKinds says, a sentence for each kind, which jobs wait for a handler
// that does not exist, and which of the warnings tells of a file that was meant
// to be it.
func unhandledKinds[H any](handled map[string]H, m queue.Metrics, warnings []config.Diagnostic) []string {
	var sentences []string
	for _, kind := range slices.Sorted(maps.Keys(m.Kinds)) {
		n := m.Kinds[kind].Ready + m.Kinds[kind].Scheduled
		if _, ok := handled[kind]; ok || n == 0 {
			continue
		}
		if file := meantFile(kind, warnings, m.Kinds[kind]); file != "" {
			sentences = append(sentences, file)
			continue
		}
		near := ""
		if k := config.Nearest(kind, slices.Collect(maps.Keys(handled))); k != "" {
			near = fmt.Sprintf(" (the nearest is %q)", k)
		}
		sentences = append(sentences, fmt.Sprintf("%s for a handler of kind %q, and there is none%s", waitingOfKind(m.Kinds[kind]), kind, near))
	}
	return sentences
}

// noteWaiting says why jobs of kinds that were just accepted wait, if they do, in a
// line for each: nobody handles the kind, or it is paused.
func (a *app) noteWaiting(ctx context.Context, q *sqlite.Queue, kinds []string) {
	m, err := q.Metrics(ctx)
	if err != nil {
		return
	}
	maps.DeleteFunc(m.Kinds, func(kind string, _ queue.KindMetrics) bool { return !slices.Contains(kinds, kind) })
	if cfg := a.mayConfig(); cfg != nil {
		for _, sentence := range unhandledKinds(cfg.Handlers, m, cfg.Warnings) {
			a.note("%s", sentence)
		}
	}
	for _, kind := range kinds {
		k := m.Kinds[kind]
		if !k.Paused {
			continue
		}
		a.note("%s is paused: %s · %s", kind, waitingOfKind(k), a.command("resume %s", kind))
	}
}

// meantFile is the warning about a file that was meant to be the handler of
// kind, with how many jobs wait for it and how long; empty if there is none.
func meantFile(kind string, warnings []config.Diagnostic, k queue.KindMetrics) string {
	i := slices.IndexFunc(warnings, func(w config.Diagnostic) bool { return meantFor(w.File, kind) })
	if i < 0 {
		return ""
	}
	text := escape(warnings[i].String())
	if n := k.Ready + k.Scheduled; n > 0 {
		text += fmt.Sprintf(" (%s for it", waiting(n))
		if k.HasOldestReady {
			text += ", oldest " + span(k.OldestReady)
		}
		text += ")"
	}
	return text
}

// meantFor reports whether a file has the name of a drop-in handler of kind.
func meantFor(file, kind string) bool {
	name := filepath.Base(file)
	return strings.TrimSuffix(name, filepath.Ext(name)) == kind
}

// waitingOfKind says how many jobs of a kind wait; where some are not due yet, how
// many of them.
func waitingOfKind(k queue.KindMetrics) string {
	text := waiting(k.Ready + k.Scheduled)
	switch {
	case k.Scheduled > 0 && k.Ready > 0:
		text += fmt.Sprintf(" (%d due now, %d later)", k.Ready, k.Scheduled)
	case k.Scheduled > 0:
		text += " (due later)"
	}
	return text
}

// waiting says that so many jobs wait.
func waiting(jobs int64) string {
	switch jobs {
	case 0:
		return "no job waits"
	case 1:
		return "1 job waits"
	}
	return fmt.Sprintf("%d jobs wait", jobs)
}
