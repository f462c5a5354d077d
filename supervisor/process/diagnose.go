package process

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/b1213022/bailiff/internal/shellword"
)

// Diagnose says what would keep argv from starting in the folder dir with this
// PATH: a *StartError, or nil if nothing is seen. It starts nothing. Start finds
// the same and more, since some things only the system knows.
func Diagnose(argv []string, dir, path string) error {
	file, err := resolve(argv, dir, path)
	if err != nil {
		return err
	}
	if reason := programFault(file); reason != "" {
		return &StartError{Path: file, Reason: reason}
	}
	return nil
}

// resolve finds the file that argv runs and refuses what would fail for sure,
// often as a bare "no such file or directory", or only after a start that counts
// as one, as env(1) does.
func resolve(argv []string, dir, path string) (string, error) {
	if len(argv) == 0 {
		return "", &StartError{Reason: "the command is empty"}
	}
	if dir != "" {
		info, err := os.Stat(dir)
		if err != nil {
			return "", &StartError{Path: argv[0], Reason: fmt.Sprintf("the folder it is to run in, %s: %s", dir, bare(err)), Err: err}
		}
		if !info.IsDir() {
			return "", &StartError{Path: argv[0], Reason: fmt.Sprintf("what it is to run in, %s, is not a folder", dir)}
		}
	}
	file, err := LookPath(argv[0], dir, path)
	if err != nil {
		return "", err
	}
	if reason := scriptFault(file, dir, path, scriptDepth); reason != "" {
		return "", &StartError{Path: file, Reason: reason}
	}
	return file, nil
}

// What execve(2) says of scripts: so much of the first line is looked at, and an
// interpreter may be a script itself, but not deeper than this.
const (
	headSize    = 256
	scriptDepth = 4
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// scriptFault says what is wrong with the #! line of a file; "" if nothing is,
// if it has none or cannot be read.
func scriptFault(file, dir, path string, depth int) string {
	head := headOf(file)
	if rest, marked := bytes.CutPrefix(head, byteOrderMark); marked && bytes.HasPrefix(rest, []byte("#!")) {
		return `begins with a byte-order mark before "#!", so the system does not see it. sed -i '1s/^\xEF\xBB\xBF//' ` + shellword.Quote(file)
	}
	rest, isScript := bytes.CutPrefix(head, []byte("#!"))
	if !isScript {
		return ""
	}
	line, _, ended := bytes.Cut(rest, []byte("\n"))
	if ended && bytes.HasSuffix(line, []byte("\r")) {
		return fmt.Sprintf(`its #! line ends in CR LF, so the system looks for %q. sed -i 's/\r$//' %s`, interpreterWords(line), shellword.Quote(file))
	}
	words := strings.TrimRight(interpreterWords(line), " \t")
	interpreter, argument, _ := strings.Cut(strings.ReplaceAll(words, "\t", " "), " ")
	argument = strings.TrimLeft(argument, " ")
	if interpreter == "" {
		return "its #! line names no interpreter"
	}
	if !ended && argument == "" && len(head) == headSize {
		return fmt.Sprintf("its #! line is longer than the %d bytes the system looks at", headSize)
	}
	program, err := absolute(interpreter, dir)
	if err != nil {
		return ""
	}
	if fault := fileFault(program); fault != "" {
		return fmt.Sprintf("its interpreter %s %s", interpreter, fault)
	}
	if filepath.Base(program) == "env" {
		return envFault(argument, path)
	}
	if depth > 1 {
		if fault := scriptFault(program, dir, path, depth-1); fault != "" {
			return fmt.Sprintf("its interpreter %s: %s", interpreter, fault)
		}
	}
	return ""
}

func interpreterWords(line []byte) string { return strings.TrimLeft(string(line), " \t") }

// envFault looks at what a #! line makes env(1) look for. The system hands env
// all that follows it as one argument.
func envFault(argument, path string) string {
	name, split := strings.CutPrefix(argument, "-S")
	if split {
		name, _, _ = strings.Cut(strings.TrimLeft(name, " "), " ")
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, `=/'"$\`) {
		return "" // an option, a variable or a path: env knows, this does not
	}
	if program, _, more := strings.Cut(name, " "); more {
		return fmt.Sprintf(`its #! line makes env look for a program called %q; write "#!/usr/bin/env -S %s" (or name %s alone)`, name, name, program)
	}
	if _, err := LookPath(name, "", path); err != nil {
		return fmt.Sprintf("its interpreter, by env: %v", err)
	}
	return ""
}

// programFault looks at a file that has no #! line: the system may still run it
// by binfmt_misc, so Start asks only after a refusal.
func programFault(file string) string {
	head := headOf(file)
	switch {
	case head == nil || bytes.HasPrefix(head, []byte("#!")):
		return ""
	case len(head) == 0:
		return "is empty"
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return loaderFault(file)
	case bytes.IndexByte(head, 0) < 0:
		return fmt.Sprintf(`has no #! line, so the system does not know what runs it; make its first line "%s"`, usualInterpreter(file))
	}
	return ""
}

// usualInterpreter is the #! line that a file of this name most likely wants.
func usualInterpreter(file string) string {
	switch filepath.Ext(file) {
	case ".py":
		return "#!/usr/bin/env python3"
	case ".js", ".mjs", ".cjs":
		return "#!/usr/bin/env node"
	case ".rb":
		return "#!/usr/bin/env ruby"
	case ".pl":
		return "#!/usr/bin/env perl"
	case ".bash":
		return "#!/usr/bin/env bash"
	}
	return "#!/bin/sh"
}

// loaderFault says if the loader that a dynamically linked program names is not
// there, which the system reports as if the program itself were missing.
func loaderFault(file string) string {
	program, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer program.Close()
	for _, part := range program.Progs {
		if part.Type != elf.PT_INTERP || part.Filesz > 4096 {
			continue
		}
		text, err := io.ReadAll(part.Open())
		if err != nil {
			return ""
		}
		loader := string(bytes.TrimRight(text, "\x00"))
		if statError(loader) != nil {
			return fmt.Sprintf("was built for another system: its loader %s does not exist here", loader)
		}
	}
	return ""
}

// headOf returns the beginning of a file, nil if it cannot be read.
func headOf(file string) []byte {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil
	}
	return head[:n]
}
