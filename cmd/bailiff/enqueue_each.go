package main

import (
	"bytes"
	"cmp"
	"context"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
)

// fieldName is what --each takes: a name as in name=text.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// checkEach checks the arguments and flags of enqueue --each.
func (f *enqueueFlags) checkEach(cmd *cobra.Command, args []string) error {
	const call = "bailiff enqueue KIND [KEYPREFIX] [name=value…] --each FIELD < LINES"
	if !fieldName.MatchString(f.each) {
		return usage("--each '%s' is no name of a field", escape(f.each))
	}
	if len(args) == 0 {
		return advise(usage("which kind?"), call)
	}
	for _, flag := range []string{"new-key", "wait"} {
		if cmd.Flags().Changed(flag) {
			return usage("--%s does not go with --each: each line is the key of a job", flag)
		}
	}
	if f.meta == "-" && cmp.Or(f.from, "-") == "-" {
		return usage("--meta and --each cannot both read stdin")
	}
	prefix, words := eachWords(args)
	for _, word := range words {
		if !pair.MatchString(word) {
			return advise(usage("'%s' is neither name=text nor name:=json", brief(word, 60)), "the lines come from stdin or --from FILE: printf '%%s\\n' *.wav | %s", call)
		}
	}
	if queue.LooksLikePayload(prefix) {
		return advise(usage("'%s' looks like a payload, not like the beginning of keys", brief(prefix, 60)), call)
	}
	if prefix != "" {
		return queue.ValidKey(prefix)
	}
	return nil
}

// eachWords are the arguments behind the kind: the prefix of the keys, if one is
// given, and the words that are added to each payload.
func eachWords(args []string) (prefix string, words []string) {
	if words = args[1:]; len(words) > 0 && !pair.MatchString(words[0]) {
		return words[0], words[1:]
	}
	return "", words
}

// enqueueEach puts in a job for each plain line of a file: the line is a field of
// its payload and, behind a prefix, its key.
func (a *app) enqueueEach(ctx context.Context, args []string, f enqueueFlags, limited bool) error {
	job := queue.NewJob{Kind: args[0]}
	if err := queue.ValidKind(job.Kind); err != nil {
		return err
	}
	if err := a.options(&job, f, limited); err != nil {
		return err
	}
	prefix, words := eachWords(args)
	payload, err := object(append([]string{f.each + "="}, words...))
	if err != nil {
		return err
	}
	// The payload of a line is this one, the line in place of the empty text.
	head := []byte(`{"` + f.each + `":`)
	tail := payload[len(head)+len(`""`):]
	plain := func(line []byte) (queue.NewJob, error) {
		job := job
		job.Key = prefix + string(line)
		if err := queue.ValidKey(job.Key); err != nil {
			return job, err
		}
		text := append(make([]byte, 0, len(head)+len(line)+len(tail)+8), head...)
		text, err := jsontext.AppendQuote(text, line)
		job.Payload = append(text, tail...)
		return job, err
	}
	return a.enqueueLines(ctx, cmp.Or(f.from, "-"), lineFormat{trim: trimEnd, job: plain})
}

// trimEnd takes the end off a line, LF or CR LF. White space alone is no line.
func trimEnd(line []byte) []byte {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
