package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// secretMark is on every value that came from env() or file(), and on all that
// was made from one: such a value is never printed.
const secretMark = "secret"

// maxSecretFile bounds what file() reads: Linux passes no longer text to a
// program (MAX_ARG_STRLEN, 128 KiB, in execve(2)).
const maxSecretFile = 128 << 10

// functions are the two that a configuration may call. dir is where relative
// names start; saw is told of each file that was looked at.
func functions(dir string, saw func(path string)) *hcl.EvalContext {
	one := func(name string, call func(string) (string, error)) function.Function {
		return function.New(&function.Spec{
			// Marked arguments are let in to be refused: a failing call shows its argument.
			Params: []function.Parameter{{Name: name, Type: cty.String, AllowMarked: true}},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				if args[0].IsMarked() {
					return cty.NilVal, fmt.Errorf("the %s must be written out: what env() or file() gave is kept secret", name)
				}
				s, err := call(args[0].AsString())
				if err != nil {
					return cty.NilVal, err
				}
				return cty.StringVal(s).Mark(secretMark), nil
			},
		})
	}
	return &hcl.EvalContext{Functions: map[string]function.Function{
		"env": one("name", readVariable),
		"file": one("path", func(path string) (string, error) {
			path = in(dir, path)
			saw(path)
			return readSecret(path)
		}),
	}}
}

func readVariable(name string) (string, error) {
	value, set := os.LookupEnv(name)
	if !set {
		return "", fmt.Errorf("env(%q): this process's environment has no %s; set it where the service is started", name, name)
	}
	return value, nil
}

// readSecret reads a whole text file without its final newline. What is no
// regular file is refused rather than waited for.
func readSecret(path string) (string, error) {
	text, err := readRegular(path, maxSecretFile)
	if err != nil {
		return "", fmt.Errorf("file(%q): %w", path, err)
	}
	if !utf8.Valid(text) {
		return "", fmt.Errorf("file(%q): not UTF-8 text", path)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

// readRegular reads a regular file of at most limit bytes. It never waits: a
// pipe that nobody writes to is refused, not read.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("it is longer than %d KiB", limit>>10)
	}
	return text, nil
}

// withoutPath drops the path that package os puts into its errors, where the
// message names the file already.
func withoutPath(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
