package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command teaches: what it does in a line and in a paragraph, and two
// lines that a person could type.
func TestEveryCommandTeaches(t *testing.T) {
	t.Parallel()
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" {
			t.Errorf("%s does not say what it does", cmd.CommandPath())
		}
		lines := strings.Split(cmd.Example, "\n")
		if len(lines) != 2 {
			t.Errorf("%s has %d lines of examples, want 2", cmd.CommandPath(), len(lines))
		}
		for _, line := range lines {
			if !strings.Contains(line, cmd.CommandPath()) {
				t.Errorf("%s: the example %q does not use it", cmd.CommandPath(), line)
			}
		}
		for _, line := range strings.Split(cmd.Long, "\n") {
			if len([]rune(line)) > 90 {
				t.Errorf("%s: a line of its help is longer than a terminal: %s", cmd.CommandPath(), line)
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&app{}))
}
