package config

import (
	"fmt"
	"strings"
)

// unknown tells about a setting or block that may not stand where it does:
// because a later version brings it, because it belongs elsewhere, because it
// is written in the other form, or because nothing is called so.
func unknown(name string, s *schema, where string, here place, isBlock bool) Diagnostic {
	if what, later := s.later[name]; later {
		return notYet(name, what, here)
	}
	if isBlock && s.settings[name] != nil {
		return here.diagnose(name+" is a setting, not a block", fmt.Sprintf("write %s = …", name))
	}
	if !isBlock && s.blocks[name] != nil {
		return here.diagnose(name+" is a block, not a setting", fmt.Sprintf("write %s { … } without =", name))
	}
	what := "setting"
	if isBlock {
		what = "block"
	}
	summary := fmt.Sprintf("unknown %s %q %s", what, name, orTop(where))
	if s == sidecarBody && name == "command" {
		return here.diagnose("command cannot be set for a drop-in", "its command is the file itself; for another one write a block into the config file")
	}
	if s == sidecarBody && name == "handler" {
		return here.diagnose("handler is the block around these settings", "a file beside a drop-in holds them without it")
	}
	if homes := home(name); homes != "" {
		return here.diagnose(summary, "it belongs "+homes)
	}
	for _, other := range bodies {
		if what, later := other.later[name]; later {
			return notYet(name, what, here)
		}
	}
	d := here.diagnose(summary, "known here: "+strings.Join(s.words(), ", "))
	if near := Nearest(name, s.words()); near != "" {
		d.Near, d.Detail = near, fmt.Sprintf("did you mean %q?", near)
	} else if near := Nearest(name, everyWord()); near != "" {
		d.Near, d.Detail = near, fmt.Sprintf("did you mean %q? It belongs %s", near, home(near))
	}
	return d
}

func notYet(name, what string, here place) Diagnostic {
	return here.diagnose(fmt.Sprintf("%s: not yet", name), fmt.Sprintf("this version %s; take it out", what))
}

func orTop(where string) string {
	if where == "" {
		return "at the top level"
	}
	return "in " + where
}
