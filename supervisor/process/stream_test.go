package process_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/b1213022/bailiff/supervisor/process"
)

func TestStreamReadsToTheEnd(t *testing.T) {
	t.Parallel()
	child := start(t, shell("echo one; echo two"))
	got, err := io.ReadAll(process.NewStream(child.Stdout))
	if string(got) != "one\ntwo\n" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

// A process that left the tree holds the pipe: what the child said is read, and
// nobody is waited for.
func TestDrainWithPipeHeld(t *testing.T) {
	t.Parallel()
	child := start(t, shell("setsid sleep 600 & echo $!; echo last words"))
	<-child.Exited()
	child.Kill()
	<-child.Gone()
	stream := process.NewStream(child.Stdout)
	stream.DrainAvailable()
	said, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(said), "\n")
	holder := pidOf(t, first)
	if rest != "last words\n" {
		t.Errorf("read %q", rest)
	}
	// Only if it still held the pipe did this test show anything.
	if err := syscall.Kill(holder, syscall.SIGKILL); err != nil {
		t.Errorf("the process that holds the pipe had ended: %v", err)
	}
}

func TestDrainWakesReader(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	stream := process.NewStream(r)
	read := make(chan string)
	go func() {
		all, err := io.ReadAll(stream)
		if err != nil {
			t.Error(err)
		}
		read <- string(all)
	}()
	if _, err := w.WriteString("before"); err != nil {
		t.Fatal(err)
	}
	stream.DrainAvailable()
	stream.DrainAvailable()
	if got := <-read; got != "before" {
		t.Errorf("read %q", got)
	}
}

// A survivor that writes without end does not keep the reader.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for noise := make([]byte, 4096); ; {
			if _, err := w.Write(noise); err != nil {
				return
			}
		}
	}()
	stream := process.NewStream(r)
	if _, err := io.ReadFull(stream, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	stream.DrainAvailable()
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Error(err)
	}
	_ = w.Close()
	<-written
}

func TestStreamOfClosedPipe(t *testing.T) {
	t.Parallel()
	r, _ := pipe(t)
	stream := process.NewStream(r)
	stream.DrainAvailable()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Read(make([]byte, 10)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read of a closed pipe: %v, want os.ErrClosed", err)
	}
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	return r, w
}

func TestPump(t *testing.T) {
	t.Parallel()
	const limit = 8
	for _, c := range []struct {
		name, in string
		want     []string // "+" after a line that was cut
	}{
		{"nothing", "", nil},
		{"lines", "one\ntwo\n", []string{"one", "two"}},
		{"no end", "one\ntwo", []string{"one", "two"}},
		{"blank lines", "\n\none\n\n", []string{"", "", "one", ""}},
		{"carriage return and line feed", "one\r\ntwo\r\n", []string{"one", "two"}},
		{"twice over", "one\r\r\n", []string{"one"}},
		{"progress", "10%\r20%\r30%\ndone\n", []string{"30%", "done"}},
		{"progress, then the end", "10%\r20%\r", []string{"20%"}},
		{"progress, killed within", "10%\r20", []string{"20"}},
		{"only a carriage return", "\r", []string{""}},
		{"as long as may be", "12345678\n", []string{"12345678"}},
		{"too long", "123456789\nnext\n", []string{"12345678+", "next"}},
		{"much too long", strings.Repeat("x", 100_000) + "\nnext\n", []string{"xxxxxxxx+", "next"}},
		{"too long, then replaced", "123456789\rshort\n", []string{"short"}},
		{"too long, no end", "123456789", []string{"12345678+"}},
		{"cut at a character", "1234567é\n", []string{"1234567+"}},
		{"whole character at the limit", "123456é\n", []string{"123456é"}},
		{"four bytes", "12345\U0001F600\n", []string{"12345+"}},
		{"no UTF-8", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\n", []string{"\xff\xff\xff\xff\xff\xff\xff\xff+"}},
		{"continuation bytes", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\n", []string{"\x80\x80\x80\x80\x80\x80\x80\x80+"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{
				"whole":        strings.NewReader(c.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
				"with the end": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := pumped(r, limit)
				if !slices.Equal(got, c.want) || err != nil {
					t.Errorf("%s: %q, %v, want %q", how, got, err, c.want)
				}
			}
		})
	}
}

func pumped(r io.Reader, limit int) (lines []string, err error) {
	err = process.Pump(r, limit, func(text []byte, cut bool) {
		line := string(text)
		if cut {
			line += "+"
		}
		lines = append(lines, line)
	})
	return lines, err
}

func TestPumpPassesErrorOn(t *testing.T) {
	t.Parallel()
	got, err := pumped(io.MultiReader(strings.NewReader("one\ntw"), iotest.ErrReader(io.ErrUnexpectedEOF)), 100)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !slices.Equal(got, []string{"one", "tw"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// How the bytes arrive makes no difference.
func TestPumpDoesNotDependOnPieces(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "bc", "é", "\r", "\n", "\r\n", "\xff", "\U0001F600"}
	for range 2000 {
		var text bytes.Buffer
		for range random.IntN(40) {
			text.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		limit := 1 + random.IntN(12)
		whole, err := pumped(bytes.NewReader(text.Bytes()), limit)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := pumped(iotest.OneByteReader(bytes.NewReader(text.Bytes())), limit)
		if err != nil || !slices.Equal(whole, pieces) {
			t.Fatalf("%q, limit %d: whole %q, in pieces %q, %v", text.Bytes(), limit, whole, pieces, err)
		}
		for _, line := range whole {
			if kept := strings.TrimSuffix(line, "+"); len(kept) > limit || strings.ContainsAny(kept, "\r\n") {
				t.Fatalf("%q, limit %d: line %q", text.Bytes(), limit, kept)
			}
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		size int
		add  []string
		want string
	}{
		{"none", 100, nil, ""},
		{"the last line", 100, []string{"a", "b", "c"}, "c"},
		{"a shorter one after a longer", 100, []string{"abc", "d"}, "d"},
		{"blank ones are not kept", 100, []string{"a", "", " \t"}, "a"},
		{"the beginning of a long one", 4, []string{"a", "bcdefg"}, "bcde"},
		{"cut at a character", 4, []string{"abcé"}, "abc"},
	} {
		tail := process.NewTail(c.size)
		line := make([]byte, 0, 100)
		for _, text := range c.add {
			line = append(line[:0], text...) // the caller's bytes are not kept
			tail.Add(line)
		}
		clear(line[:cap(line)])
		if got := tail.Last(); got != c.want {
			t.Errorf("%s: Last() = %q, want %q", c.name, got, c.want)
		}
	}
}
