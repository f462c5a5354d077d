package proof

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/b1213022/bailiff/queue/sqlite"
)

var kills = flag.Int("kills", 360, "how often a writer is killed in TestKilledWriters")

func init() {
	// It plays until it is killed, and prints each word that it is given.
	parts["play"] = func(ctx context.Context, args []string) error {
		seed, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return err
		}
		q, err := sqlite.Open(ctx, args[0], sqlite.Options{})
		if err != nil {
			return err
		}
		fmt.Println("{}")
		var players []*player
		for i := range 2 {
			players = append(players, newPlayer(fmt.Sprintf("%d-%d", seed, i), seed<<8+uint64(i), func(w word) {
				line, err := json.Marshal(w)
				if err != nil {
					panic(err)
				}
				// One write, so that a word is there whole or not at all.
				if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
					panic(err)
				}
			}))
		}
		return play(ctx, q, players, 1<<30)
	}
}

// victim is a writer that is going to be killed.
type victim struct {
	cmd   *exec.Cmd
	lines chan word // closed when it has gone
}

func startVictim(t *testing.T, path string, seed uint64) victim {
	t.Helper()
	v := victim{cmd: child(t, "play", path, seed), lines: make(chan word, 1)}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(v.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				if len(line) > 0 && err == io.EOF {
					t.Errorf("a word was cut short: %q", line)
				}
				return
			}
			var w word
			if err := json.Unmarshal(line, &w); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			v.lines <- w
		}
	}()
	return v
}

// arena is a database on which several writers are killed and started again.
type arena struct {
	path string
	mu   sync.Mutex
	book ledger
	n    int // words
}

// killOne starts a writer, kills it at a moment drawn by chance and keeps what it said.
func (a *arena) killOne(t *testing.T, seed uint64, chance *rand.Rand) {
	t.Helper()
	v := startVictim(t, a.path, seed)
	keep := func(w word) {
		if w.Act == "" {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.book.add(w)
		a.n++
	}
	// Mostly after it has begun to write, so long after that any part of a commit
	// is met; now and then while it opens.
	if chance.IntN(8) > 0 {
		w, ok := <-v.lines
		if !ok {
			t.Error("a writer ended by itself")
		}
		keep(w)
	}
	kill := time.After(time.Duration(chance.Int64N(int64(60 * time.Millisecond))))
	for {
		select {
		case w, ok := <-v.lines:
			if ok {
				keep(w)
				continue
			}
			if err := v.cmd.Wait(); err == nil || err.Error() != "signal: killed" {
				t.Errorf("a writer ended by itself: %v", err)
			}
			return
		case <-kill:
			if err := v.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Writers are killed at any moment while others go on. After each few of them the
// file is whole, and in the end every word that was given stands.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	const writers, each = 3, 40 // on one database
	dir := memoryFolder(t)
	killed, words := 0, 0
	for round := 0; killed < *kills && !t.Failed(); round++ {
		a := arena{path: filepath.Join(dir, fmt.Sprint(round, ".db")), book: ledger{}}
		if err := sqlite.Create(t.Context(), a.path, sqlite.Options{}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				chance := rand.New(rand.NewPCG(uint64(round), uint64(i)))
				for n := range each {
					a.killOne(t, uint64(round*1000+i*100+n), chance)
					// The others go on meanwhile.
					if n%3 == 0 {
						if err := sound(a.path); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		killed += writers * each
		words += a.n
		if err := sound(a.path); err != nil {
			t.Error(err)
		}
		report, err := sqlite.Examine(t.Context(), a.path, sqlite.Options{}, sqlite.Known{})
		if err != nil {
			t.Error(err)
		}
		for _, f := range report.Findings {
			if !f.OK {
				t.Errorf("%s: %s", f.Check, f.Detail)
			}
		}
		q, err := sqlite.Open(t.Context(), a.path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range a.book.broken(t.Context(), q) {
			t.Error(found)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d writers killed, %d words stand", killed, words)
}
