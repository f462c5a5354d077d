package config

import "strings"

// Changes lists which settings besides those of handlers have another value than in
// before, each as "retention dead: "180d" → "1d"". What is secret is not compared.
func (c *Config) Changes(before *Config) []string {
	was := map[string]string{}
	for _, s := range before.settings {
		was[s.path()] = s.Value
	}
	list := []string{}
	for _, s := range c.settings {
		old, listed := was[s.path()]
		delete(was, s.path())
		if !listed {
			old = noneText
		}
		if !s.ofHandler() && old != s.Value {
			list = append(list, s.path()+": "+old+" → "+s.Value)
		}
	}
	for _, s := range before.settings { // those of a block that is gone
		if _, gone := was[s.path()]; gone && !s.ofHandler() && s.Value != noneText {
			list = append(list, s.path()+": "+s.Value+" → "+noneText)
		}
	}
	return list
}

// path is the name of a setting with its block.
func (s Setting) path() string { return strings.TrimSpace(s.Block + " " + s.Name) }

func (s Setting) ofHandler() bool { return strings.HasPrefix(s.Block, "handler ") }
