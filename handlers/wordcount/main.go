// Wordcount is a handler: {"path":"go.mod"} gives {"path":…,"lines":…,"words":…,
// "bytes":…}, as wc counts them in a UTF-8 locale. It shows a handler in Go: Main
// speaks the protocol, the rest is the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/b1213022/bailiff/childproto"
)

// payload is what a job brings.
type payload struct {
	Path string `json:"path"` // relative to the handler's folder, or absolute
}

// result is what it gives.
type result struct {
	Path string `json:"path"`
	counts
}

func main() { childproto.Main(handle) }

func handle(ctx context.Context, task *childproto.Task) (any, error) {
	var p payload
	if err := task.Decode(&p); err != nil {
		return nil, err
	}
	if p.Path == "" {
		return nil, childproto.Dead(`payload: {"path":"…"} is expected`)
	}
	file, err := open(p.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, err := count(ctx, file, task.Alive)
	if err != nil {
		return nil, err
	}
	return result{Path: p.Path, counts: n}, nil
}

// open opens a regular file. What is none, or is not there, will be none next
// time: dead. The rest (too many open files, a disk that fails) is tried again.
func open(path string) (*os.File, error) {
	// A pipe without a writer would keep an open without O_NONBLOCK waiting.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, childproto.Dead(err.Error())
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = childproto.Dead(fmt.Sprintf("%s: not a regular file", path))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
