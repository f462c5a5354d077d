package config

import (
	"fmt"
	"slices"
)

// checkLease checks what two settings of the lease say together.
func (l *loader) checkLease(file *section) {
	lease, s := l.config.Lease, file.blocks["lease"]
	if s == nil || s.failed["duration"] || lease.Renew <= lease.Duration/2 {
		return
	}
	l.fail(s.settingAt("renew"),
		fmt.Sprintf("renew = %q is above half of duration = %q", formatDuration(lease.Renew), formatDuration(lease.Duration)),
		fmt.Sprintf("one failed renewal would lose the lease: write at most %q, or leave it out for a third", formatDuration(lease.Duration/2)))
}

// checkBody checks a defaults or handler section by itself. It may be nil.
func (l *loader) checkBody(s *section, where string) {
	if s == nil {
		return
	}
	exit := s.block("exit")
	if exit == nil {
		return
	}
	dead, _ := exit.values["dead"].data.([]int)
	retry, _ := exit.values["retry"].data.([]int)
	for _, code := range dead {
		if slices.Contains(retry, code) {
			l.fail(exit.settingAt("retry"), fmt.Sprintf("%s: exit status %d is in dead and in retry", where, code),
				fmt.Sprintf("dead is set at %s; take it out of one", exit.values["dead"].at))
		}
	}
}

// checkHandler checks what the settings of a whole handler say together.
func (l *loader) checkHandler(h *Handler, own *section) {
	where := fmt.Sprintf("handler %q", h.Kind)
	l.checkBody(own, where)
	if h.Protocol == Plain {
		for _, name := range []string{"start_timeout", "max_jobs", "warm", "idle_timeout"} {
			if own.sets(name) {
				l.fail(own.settingAt(name), fmt.Sprintf("%s: %s is for protocol = \"lines\" alone", where, name),
					"a plain handler is a new process for each job; take it out or set the protocol")
			}
		}
	}
	if exit := own.block("exit"); exit != nil && h.Protocol == Lines {
		l.fail(exit.at, fmt.Sprintf("%s: exit is for protocol = \"plain\" alone", where),
			"a lines handler says its outcome in a message; take the block out")
	}
	if h.Warm > h.Concurrency {
		at, where := l.blame(own, where, "", "warm", "concurrency")
		l.fail(at, fmt.Sprintf("%s: warm = %d is above concurrency = %d", where, h.Warm, h.Concurrency),
			"no more children run than concurrency says")
	}
	if h.Retry.BaseDelay > h.Retry.MaxDelay {
		at, where := l.blame(own, where, "retry", "base_delay", "max_delay")
		l.fail(at,
			fmt.Sprintf("%s: base_delay = %q is above max_delay = %q", where, formatDuration(h.Retry.BaseDelay), formatDuration(h.Retry.MaxDelay)),
			"lower the one or raise the other")
	}
}

// blame is where the first of the settings is set, in the handler's own section
// before the defaults, and whose it is: what the defaults alone do is said once
// and not of every handler.
func (l *loader) blame(own *section, where, block string, settings ...string) (place, string) {
	for _, s := range []*section{own, l.defaults} {
		inner := s
		if block != "" {
			inner = s.block(block)
		}
		for _, name := range settings {
			switch {
			case !inner.sets(name):
			case s == l.defaults:
				return inner.values[name].at, "defaults"
			default:
				return inner.values[name].at, where
			}
		}
	}
	return place{l.given, 0}, where
}

// sets reports whether the section, which may be nil, holds the setting.
func (s *section) sets(name string) bool {
	if s == nil {
		return false
	}
	_, set := s.values[name]
	return set
}

// settingAt is where the first of the settings that is set stands, else where
// the section begins.
func (s *section) settingAt(names ...string) place {
	for _, name := range names {
		if v, set := s.values[name]; set {
			return v.at
		}
	}
	return s.at
}
