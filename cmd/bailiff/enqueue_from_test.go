package main

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

func TestLinesOfJobsAreReadStrictly(t *testing.T) {
	t.Parallel()
	job, err := parseJobLine([]byte(`{"kind":"k","key":"a","payload":{"n": 9007199254740993},"max_attempts":3,"available_at":"2026-11-30T14:00:00+01:00","priority":-5,"meta":{"m":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if job.Kind != "k" || job.Key != "a" || job.MaxAttempts != 3 || job.Priority != -5 ||
		string(job.Payload) != `{"n": 9007199254740993}` || string(job.Meta) != `{"m":1}` || job.AvailableAt.Unix() != 1796043600 {
		t.Errorf("read as %+v", job)
	}
	if job, err := parseJobLine([]byte(`{"kind":"k","key":"a","meta":null}`)); err != nil || string(job.Payload) != `{}` || job.Meta != nil {
		t.Errorf("without payload: %+v, %v", job, err)
	}
	for _, bad := range []string{
		`{"kind":"k","kind":"l","key":"a"}`,
		`{"kind":"k","key":"a","prio":1}`,
		`{"kind":"k","KEY":"a"}`,
		`{"kind":"k","key":"a","available_at":"2026-11-30T14:00:00"}`,
		`{"kind":"k","key":"a"} {}`,
		`["k","a"]`,
		`oops`,
	} {
		if _, err := parseJobLine([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestReadLineBoundsItsMemory(t *testing.T) {
	t.Parallel()
	in := bufio.NewReaderSize(io.MultiReader(
		strings.NewReader("short\n"),
		io.LimitReader(endless{}, 3*maxLine), strings.NewReader("\n"),
		strings.NewReader("last"),
	), 64<<10)
	if line, size, err := readLine(in); string(line) != "short\n" || size != 6 || err != nil {
		t.Errorf("first: %q, %d, %v", line, size, err)
	}
	if line, size, err := readLine(in); len(line) > maxLine+64<<10 || size != 3*maxLine+1 || err != nil {
		t.Errorf("long: %d bytes kept of %d, %v", len(line), size, err)
	}
	if line, size, err := readLine(in); string(line) != "last" || size != 4 || err != io.EOF {
		t.Errorf("last: %q, %d, %v", line, size, err)
	}
}

// endless reads as x for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
