package handlertest_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"crypto/sha256"

	"github.com/go-json-experiment/json"

	"github.com/b1213022/bailiff/childproto"
)

func TestHello(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"name":"Ann"}`:                     `"Hello, Ann!"`,
		`{}`:                                 `"Hello, world!"`,
		`{"name":""}`:                        `"Hello, world!"`,
		`{"name":5,"x":"name","y":"no"}`:     `"Hello, world!"`,
		`["name",":","x"]`:                   `"Hello, world!"`,
		`7`:                                  `"Hello, world!"`,
		`{"a":{"name":"no"},"name":"Zoë"}`:   `"Hello, Zoë!"`,
		`{"a":"\"name\":\"no\""}`:            `"Hello, world!"`,
		"{\n \"name\" :\n \"%s $(id) `\"\n}": "\"Hello, %s $(id) `!\"",
		`{"name":"O\"N\\eil \u00e9\n\ud83d\ude00"}`: `"Hello, O\"N\\eil \u00e9\n\ud83d\ude00!"`,
	} {
		status, stdout, stderr := plain(t, []string{"../hello.sh"}, payload)
		if status != 0 || stdout != want+"\n" {
			t.Errorf("%s: exit status %d, stdout %q, stderr %q, want %s", payload, status, stdout, stderr, want)
		}
		if _, ok := childproto.PlainResult([]byte(stdout)); !ok {
			t.Errorf("%s: %q is no result", payload, stdout)
		}
	}
}

// uppercase runs the handler on a text and answers with what it made of it.
func uppercase(t *testing.T, payload []byte) string {
	t.Helper()
	status, stdout, stderr := plain(t, []string{"../uppercase.sh"}, string(payload))
	if status != 0 {
		t.Fatalf("exit status %d, stderr %q", status, stderr)
	}
	result, ok := childproto.PlainResult([]byte(stdout))
	if !ok {
		t.Fatalf("%.200q is no result", stdout)
	}
	var got struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(result, &got); err != nil {
		t.Fatal(err)
	}
	return got.Text
}

func TestUppercase(t *testing.T) {
	t.Parallel()
	texts := []string{
		"hello", "", "a\"b\\c/d\be\ff\ng\rh\ti", `\n \\n \u0061 "`, "\\", "\x00\x01\x1f\x7f", "%s %d $(id) `id` 'x'",
		"emoji 😀 and a 日本", "[{\"text\":\"no\"}]", strings.Repeat(`x"\`+"\n", 100),
	}
	for _, text := range texts {
		payload, err := json.Marshal(map[string]any{"other": []string{"text", text}, "text": text, "z": map[string]string{"text": "no"}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := uppercase(t, payload), strings.ToUpper(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		escaped := fmt.Sprintf(`{"text":%s}`, escapeAll(text))
		if got, want := uppercase(t, []byte(escaped)), strings.ToUpper(text); got != want {
			t.Errorf("%s became %q, want %q", escaped, got, want)
		}
	}
}

// escapeAll writes each UTF-16 unit of s as an escape.
func escapeAll(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff {
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return `"` + b.String() + `"`
}

func TestUppercaseBeyondASCII(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("sed", "--version").Output(); err != nil || !strings.Contains(string(out), "GNU") {
		t.Skip("sed is not GNU sed: letters beyond a to z stay as they are")
	}
	if got, want := uppercase(t, []byte(`{"text":"\u00e9é привет ελ"}`)), "ÉÉ ПРИВЕТ ΕΛ"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUppercaseOfALargeText(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`ab"\`+"\n", 100_000)
	payload, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	if got := uppercase(t, payload); got != strings.ToUpper(text) {
		t.Errorf("%d bytes became %d other ones", len(text), len(got))
	}
}

func TestUppercaseWithoutText(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{`{}`, `{"text":5}`, `{"text":["a"]}`, `"text"`, `["text","a"]`} {
		status, stdout, stderr := plain(t, []string{"../uppercase.sh"}, payload)
		if status != childproto.StatusDead || stdout != "" || stderr != "payload: {\"text\":\"…\"} is expected\n" {
			t.Errorf("%s: exit status %d, stdout %q, stderr %q, want dead and why", payload, status, stdout, stderr)
		}
	}
}

// testNoFile gives a handler that reads a file payloads that name none.
func testNoFile(t *testing.T, c *child, dir string) {
	t.Helper()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, payload := range []string{
		`{"path":"` + dir + `/missing"}`, `{"path":"` + dir + `"}`, `{"path":"` + pipe + `"}`, `{"path":""}`, `{}`, `{"path":7}`,
	} {
		if got := c.run(int64(100+i), payload); got.Is != childproto.EndDead || got.Reason == "" {
			t.Errorf("%s: %+v, want dead with a reason", payload, got)
		}
	}
}

func TestChecksum(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	dir := t.TempDir()
	c := startLines(t, "../checksum.py")
	for i, content := range []string{"", "hello\n", strings.Repeat("\x00\xff", 3<<20)} {
		name := filepath.Join(dir, fmt.Sprintf("file é %d", i))
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(content))
		var got, want struct {
			Path   string `json:"path"`
			SHA256 string `json:"sha256"`
			Size   int    `json:"size"`
		}
		want.Path, want.SHA256, want.Size = name, hex.EncodeToString(sum[:]), len(content)
		outcome := c.run(int64(i+1), `{"path":"`+name+`"}`)
		if err := json.Unmarshal(outcome.Result, &got); err != nil || outcome.Is != childproto.EndDone || got != want {
			t.Errorf("%+v, %v, want done with %+v", outcome, err, want)
		}
	}
	testNoFile(t, c, dir)
	c.finish()
}

func TestTitlecase(t *testing.T) {
	t.Parallel()
	need(t, "node")
	c := startLines(t, "../titlecase.mjs")
	tests := []struct{ text, want string }{
		{"the old man and THE sea", "The Old Man And The Sea"},
		{"don't o’neil élan straße", "Don't O’neil Élan Straße"},
		{"", ""},
		{"one\u2028two\u2029three\n4th", "One\u2028Two\u2029Three\n4th"},
		{"😀 x\"y\\z", "😀 X\"Y\\Z"},
		{strings.Repeat("long ", 100_000), strings.Repeat("Long ", 100_000)},
	}
	for i, test := range tests {
		payload, err := json.Marshal(map[string]string{"text": test.text})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Text string `json:"text"`
		}
		outcome := c.run(int64(i+1), string(payload))
		if err := json.Unmarshal(outcome.Result, &got); err != nil || outcome.Is != childproto.EndDone || got.Text != test.want {
			t.Errorf("%.60q became %.200v (%v), want %.60q", test.text, outcome, err, test.want)
		}
	}
	for i, payload := range []string{`{}`, `null`, `{"text":5}`} {
		if got := c.run(int64(100+i), payload); got.Is != childproto.EndDead || got.Reason == "" {
			t.Errorf("%s: %+v, want dead with a reason", payload, got)
		}
	}
	c.finish()
}

// build builds a Go program with the toolchain that runs the tests.
func build(t *testing.T, target string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "handler")
	if out, err := exec.Command("go", "build", "-o", binary, target).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", target, err, out)
	}
	return binary
}

func TestWordcount(t *testing.T) {
	t.Parallel()
	need(t, "go")
	dir := t.TempDir()
	c := startLines(t, build(t, "../wordcount"))
	outcome := c.run(1, `{"path":"run_test.go"}`)
	wc, err := exec.Command("wc", "run_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines, words, size int
	if _, err := fmt.Sscan(string(wc), &lines, &words, &size); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"path":"run_test.go","lines":%d,"words":%d,"bytes":%d}`, lines, words, size)
	if outcome.Is != childproto.EndDone || string(outcome.Result) != want {
		t.Errorf("%+v, want done with %s, as wc counts", outcome, want)
	}
	testNoFile(t, c, dir)
	c.finish()
}
