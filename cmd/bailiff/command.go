package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/b1213022/bailiff/internal/shellword"
)

// command is a command of bailiff as a person can type it next. It names the
// configuration and the database that this one was told by flags or the
// environment: without them it would act on other jobs of the same numbers.
func (a *app) command(format string, args ...any) string {
	return a.commandOn(cmp.Or(a.dbFlag, os.Getenv("BAILIFF_DB")), format, args...)
}

// commandOn is command for the database named; empty: the configuration's.
func (a *app) commandOn(database, format string, args ...any) string {
	var b strings.Builder
	b.WriteString("bailiff")
	for _, flag := range []struct{ name, value string }{
		{"--config", cmp.Or(a.configFlag, os.Getenv("BAILIFF_CONFIG"))},
		{"--db", database},
	} {
		if flag.value != "" {
			b.WriteString(" " + flag.name + " " + escape(shellword.Quote(flag.value)))
		}
	}
	if a.networkFS {
		b.WriteString(" --network-fs")
	}
	return b.String() + " " + fmt.Sprintf(format, args...)
}
