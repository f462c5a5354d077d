package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/childproto"
)

// jsonSchema numbers the documents that --json prints. Fields may be added
// under one number; none changes its meaning or goes away.
const jsonSchema = 1

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long: `Prints bailiff's version, the protocol it speaks with handlers, and the number
of the schema of its --json answers.`,
		Example: `  bailiff version
  bailiff version --json`,
		Args: words(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	version := buildVersion()
	if a.json {
		return a.printJSON(struct {
			Version  string `json:"version"`
			Go       string `json:"go"`
			Platform string `json:"platform"`
			Protocol int    `json:"protocol"`
			Schema   int    `json:"json_schema"`
		}{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, childproto.Version, jsonSchema})
	}
	a.say("bailiff %s (%s, %s/%s), handler protocol %d, JSON schema %d",
		version, runtime.Version(), runtime.GOOS, runtime.GOARCH, childproto.Version, jsonSchema)
	return nil
}

// buildVersion is what the Go toolchain recorded: a module version, or the
// commit of a checkout.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	version, dirty := "devel", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			version = "devel-" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	return version + dirty
}
