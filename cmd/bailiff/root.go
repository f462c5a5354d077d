package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/b1213022/bailiff/supervisor/config"
)

// execute runs one command line and answers with its exit status.
func execute(args []string, stdin io.Reader, stdout, errOut io.Writer) int {
	// The service handles its signals itself; the first one ends any other
	// command, the second one hard.
	signals, ctx := catchSignals()
	out := &answer{out: stdout}
	a := &app{signals: signals, in: input{ctx, stdin}, out: out, errOut: errOut, words: args}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)

	command, err := root.ExecuteContextC(ctx)
	if out.lost != nil && (err == nil || errors.As(err, new(*endedError))) {
		err = fmt.Errorf("the answer could not be written: %w", out.lost)
	}
	if err != nil {
		a.fail(command, err)
	}
	if a.log != nil {
		a.log.end()
	}
	return exitStatus(err)
}

// newRoot is the command bailiff with all its commands.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "bailiff COMMAND",
		Short: "run scripts as durable jobs on one machine",
		Long: `bailiff runs your scripts as durable jobs on one machine, stops them for good
when their time is up, and never runs one twice by itself when it cannot know
whether the first time worked.

An ID is a job's number, or kind/key. Times need an offset (or Z); durations
look like 500ms, 30s, 2h, 1d. With --json every answer is one line of JSON,
lists one line per entry, times in UTC.

The configuration is the first of --config, $BAILIFF_CONFIG, ./config.hcl,
$XDG_CONFIG_HOME/bailiff/config.hcl and /etc/bailiff/config.hcl; the database
is --db, $BAILIFF_DB, or the configuration's.

` + exitStatuses,
		Example: `  bailiff init && bailiff run
  bailiff enqueue hello world-1 name=World --wait`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
	}
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return a.version()
		}
		return cmd.Help()
	}
	root.CompletionOptions.DisableDefaultCmd = true
	cobra.EnableCommandSorting = false // they are listed in the order of their use
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "\n  {{.CommandPath}} [command]", "", 1))
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFlag, "config", "", "configuration `FILE`")
	flags.StringVar(&a.dbFlag, "db", "", "database `FILE`")
	flags.BoolVar(&a.json, "json", false, "answer in JSON")
	flags.BoolVar(&a.networkFS, "network-fs", false, "use a database on a network file system all the same")
	flags.BoolVar(&a.verbose, "verbose", false, "say which configuration and database are used")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return advise(flagError(err), "%s --help shows its flags", cmd.CommandPath())
	})
	root.PersistentPostRun = func(*cobra.Command, []string) {
		if a.verbose {
			for _, line := range a.which() {
				a.note("%s", line)
			}
		}
	}

	root.AddGroup(
		&cobra.Group{ID: "service", Title: "The service:"},
		&cobra.Group{ID: "look", Title: "Jobs, put in and looked at:"},
		&cobra.Group{ID: "act", Title: "Jobs, decided about:"},
		&cobra.Group{ID: "file", Title: "The database:"},
		&cobra.Group{ID: "more", Title: "More:"},
	)
	for group, commands := range map[string][]*cobra.Command{
		"service": {newInitCmd(a), newRunCmd(a), newCheckCmd(a), newStatusCmd(a), newTryCmd(a)},
		"look":    {newEnqueueCmd(a), newListCmd(a), newGetCmd(a), newHistoryCmd(a), newMetricsCmd(a), newDeadCmd(a)},
		"act":     {newCancelCmd(a), newCloseCmd(a), newRequeueCmd(a), newRerunCmd(a), newPauseCmd(a), newResumeCmd(a), newWorkerCmd(a)},
		"file":    {newBackupCmd(a), newRestoreCmd(a), newDoctorCmd(a), newPruneCmd(a)},
		"more":    {newVersionCmd(a), newCompletionCmd(a)},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	help := newHelpCmd()
	help.GroupID = "more"
	root.SetHelpCommand(help)
	return root
}

// flagError is what is wrong with a flag, without the words of the Go library that
// reads numbers.
func flagError(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok || wrong.GetFlag() == nil {
		return usage("%v", err)
	}
	flag := wrong.GetFlag()
	switch flag.Value.Type() {
	case "int", "int64":
		return usage("--%s %s: a whole number is expected", flag.Name, escape(wrong.GetValue()))
	case "bool":
		if _, ok := flag.Value.(*waitFlag); !ok {
			return usage("--%s takes no value", flag.Name)
		}
	}
	return usage("%v", err)
}

// unknownCommand refuses a word that is no command, with the nearest one.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word := args[0]
	if !cmd.HasParent() && slices.Contains(laterCommands, word) {
		return advise(usage("this version has no command %q yet", word), "%s --help lists those it has", cmd.CommandPath())
	}
	err := usage("%s has no command %q", cmd.CommandPath(), word)
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	near := config.Nearest(word, known)
	if i := slices.IndexFunc(known, func(name string) bool { return strings.HasPrefix(name, word) }); near == "" && i >= 0 {
		near = known[i]
	}
	if near == "" {
		return advise(err, "%s --help lists them", cmd.CommandPath())
	}
	return advise(err, "did you mean %s %s?", cmd.CommandPath(), near)
}

// laterCommands are names that the design has given away and this version does
// not have: whoever types one has not mistyped another.
var laterCommands = []string{
	"logs", "resolve", "effect", "receipt", "void", "progress", "alive", "lib", "new", "top", "watch", "schedules", "graph", "outbox", "install-service",
}

// newHelpCmd shows the help of a command, as --help does.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show how a command is used",
		Long:  "Shows what a command does and how it is used, as COMMAND --help does.",
		Example: `  bailiff help enqueue
  bailiff help worker claim`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range about.Commands() {
				names = append(names, c.Name())
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if err := unknownCommand(about, rest); err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// words checks the number of arguments and shows how the command is called.
func words(atLeast, atMost int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		var err error
		switch {
		case len(args) < atLeast:
			err = usage("too few arguments")
		case atMost >= 0 && len(args) > atMost:
			err = usage("too many arguments: %q", escape(args[atMost]))
		}
		return advise(err, "%s", strings.TrimSpace(cmd.UseLine()))
	}
}

// fail tells a person what went wrong, what to do about it, and which
// configuration and database were used.
func (a *app) fail(cmd *cobra.Command, err error) {
	command := ""
	if _, sub, ok := strings.Cut(cmd.CommandPath(), " "); ok && errors.As(err, new(*usageError)) {
		command = sub + ": " // other errors name the act themselves
	}
	var broken *config.Error
	if errors.As(err, &broken) {
		a.note("the configuration has %s:", plural(len(broken.Diagnostics), "error"))
		for _, d := range broken.Diagnostics {
			fmt.Fprintf(a.errOut, "  %s\n", escape(d.String()))
		}
		if s, _ := a.service(); s != nil {
			fmt.Fprintf(a.errOut, "  nothing changed: the service that runs (pid %d) still uses the file as of %s\n", s.PID, when(now(), s.LoadedAt))
		}
	} else {
		a.tellError(command, err)
	}
	if a.verbose || !errors.As(err, new(*usageError)) {
		a.lookAround()
	}
	for _, line := range a.which() {
		fmt.Fprintf(a.errOut, "  %s\n", line)
	}
}

// tellError says what went wrong and what to do about it.
func (a *app) tellError(command string, err error) {
	for i, line := range sentences(err) {
		if i == 0 {
			a.note("%s%s", command, line)
		} else {
			fmt.Fprintf(a.errOut, "  %s\n", line)
		}
	}
	for _, advice := range slices.Concat(advices(err), remedies(err), a.damageRemedies(err)) {
		fmt.Fprintf(a.errOut, "  %s\n", escape(advice))
	}
}

// escapeLines is escape for a message of several lines, the later ones
// indented.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = escape(lines[i])
	}
	return strings.Join(lines, "\n  ")
}

// executable is the absolute path of this program.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find bailiff's own file: %w", err)
	}
	return path, nil
}
