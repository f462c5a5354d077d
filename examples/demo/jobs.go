package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// job is one thing to do and what must come of it.
type job struct {
	request request
	want    map[string]any // fields of the result, from tools that know nothing of bailiff
}

// request is a line of `bailiff enqueue --from`.
type request struct {
	Kind    string         `json:"kind"`
	Key     string         `json:"key"`
	Payload map[string]any `json:"payload"`
}

// collect lists the jobs: checksum (Python) and wordcount (Go) for every file,
// titlecase (Node) and uppercase (sh) for every folder's name.
func collect(ctx context.Context) ([]job, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src", "net")
	var files, folders []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			folders = append(folders, path)
		case d.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sums, err := checksums(ctx, files)
	if err != nil {
		return nil, err
	}
	words, err := wordcounts(ctx, files)
	if err != nil {
		return nil, err
	}

	var jobs []job
	add := func(kind, path string, payload, want map[string]any) {
		rel, _ := filepath.Rel(filepath.Dir(root), path) // both come from root
		key := runtime.Version() + "/" + rel
		jobs = append(jobs, job{request{kind, key, payload}, want})
	}
	for _, language := range []struct{ program, kind, where string }{
		{"python3", "checksum", "every file's SHA-256"},
		{"node", "titlecase", "titles"},
		{"sh", "uppercase", "capitals"},
	} {
		if _, err := exec.LookPath(language.program); err != nil {
			fmt.Printf("%s is not installed: no %s (%s) this time.\n", language.program, language.kind, language.where)
			continue
		}
		switch language.kind {
		case "checksum":
			for _, f := range files {
				add("checksum", f, map[string]any{"path": f}, sums[f])
			}
		case "titlecase":
			for _, f := range folders {
				name := strings.ReplaceAll(filepath.Base(f), "-", " ")
				add("titlecase", f, map[string]any{"text": name}, map[string]any{"text": title(name)})
			}
		case "uppercase":
			for _, f := range folders {
				name := filepath.Base(f)
				add("uppercase", f, map[string]any{"text": name}, map[string]any{"text": strings.ToUpper(name)})
			}
		}
	}
	for _, f := range files {
		add("wordcount", f, map[string]any{"path": f}, words[f])
	}
	return jobs, nil
}

func title(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// checksums asks sha256sum.
func checksums(ctx context.Context, files []string) (map[string]map[string]any, error) {
	want := make(map[string]map[string]any, len(files))
	err := ask(ctx, files, []string{"sha256sum", "--"}, func(fields []string, path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		want[path] = map[string]any{"sha256": fields[0], "size": info.Size()}
		return nil
	}, 1)
	return want, err
}

// wordcounts asks wc.
func wordcounts(ctx context.Context, files []string) (map[string]map[string]any, error) {
	want := make(map[string]map[string]any, len(files))
	err := ask(ctx, files, []string{"wc", "-lwc", "--"}, func(fields []string, path string) error {
		counts := make([]int64, len(fields))
		for i, f := range fields {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return err
			}
			counts[i] = n
		}
		want[path] = map[string]any{"lines": counts[0], "words": counts[1], "bytes": counts[2]}
		return nil
	}, 3)
	return want, err
}

// ask runs a tool over all files and hands each line of its answer to take: n
// fields and the path they speak of.
func ask(ctx context.Context, files, tool []string, take func(fields []string, path string) error, n int) error {
	for some := range slices.Chunk(files, 500) {
		cmd := exec.CommandContext(ctx, tool[0], append(slices.Clone(tool[1:]), some...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", tool[0], err)
		}
		for line := range bytes.Lines(out) {
			fields := strings.Fields(string(line))
			if len(fields) != n+1 || fields[n] == "total" {
				continue
			}
			if err := take(fields[:n], fields[n]); err != nil {
				return fmt.Errorf("%s: %w", tool[0], err)
			}
		}
	}
	return nil
}

// matches compares a stored result with what was expected, as JSON values.
func (j job) matches(result []byte) bool {
	want, err := json.Marshal(j.want, json.Deterministic(true))
	if err != nil {
		return false
	}
	var got map[string]any
	if json.Unmarshal(result, &got) != nil {
		return false
	}
	for name := range got {
		if _, asked := j.want[name]; !asked {
			delete(got, name)
		}
	}
	have, err := json.Marshal(got, json.Deterministic(true))
	return err == nil && bytes.Equal(want, have)
}
