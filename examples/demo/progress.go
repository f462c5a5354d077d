package main

import (
	"fmt"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal, a line per tenth elsewhere.
type progress struct {
	bar    *progressbar.ProgressBar // nil: no terminal
	total  int
	tenths int
}

func newProgress(total int) *progress {
	p := &progress{total: total}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(os.Stdout),
			progressbar.OptionSetDescription("jobs"), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(40), progressbar.OptionClearOnFinish())
	}
	return p
}

func (p *progress) at(n int) {
	if p.bar != nil {
		_ = p.bar.Set(n) // it only draws
		return
	}
	if t := n * 10 / max(p.total, 1); t > p.tenths {
		p.tenths = t
		fmt.Printf("%d of %d jobs\n", n, p.total)
	}
}

// say prints a line without disturbing the bar.
func (p *progress) say(format string, args ...any) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Printf(format+"\n", args...)
}

func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
