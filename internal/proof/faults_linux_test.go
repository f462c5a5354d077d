package proof

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
)

var everyFault = flag.Bool("every-fault", false, "let each write fail in each way in TestInjectedErrors, not every third in each")

// trial is one kind of fault, met by some callers.
type trial struct {
	fault
	callers int  // more than one: they come together, and leave now and then before they are answered
	closing bool // the fault is met when the queue is closed, not before
}

var trials = []trial{
	{fault{kinds: callWrite, errno: syscall.ENOSPC}, 1, false},
	{fault{kinds: callWrite, errno: syscall.ENOSPC, sticky: true}, 1, false},
	{fault{kinds: callWrite, errno: syscall.EIO, part: halfOfIt}, 1, false},
	{fault{kinds: callWrite, errno: syscall.EIO, sticky: true}, 1, false},
	// A commit that was said to have failed must not come back with the next recovery.
	{fault{kinds: callWrite, errno: syscall.EIO, part: allOfIt}, 1, false},
	{fault{kinds: callWrite, errno: syscall.EDQUOT, part: halfOfIt, sticky: true}, 1, false},
	// As where the kernel made a file system read-only after an error of its own.
	{fault{kinds: callWrite | callTruncate, errno: syscall.EROFS, sticky: true}, 1, false},
	{fault{kinds: callSync, errno: syscall.EIO}, 1, false},
	{fault{kinds: callSync, errno: syscall.EIO, sticky: true}, 1, false},
	{fault{kinds: callSync, errno: syscall.ENOSPC}, 1, false},
	{fault{kinds: callTruncate, errno: syscall.EIO}, 1, false},
	{fault{kinds: callOpen, errno: syscall.EMFILE}, 1, false},
	{fault{kinds: callOpen, errno: syscall.EACCES, sticky: true}, 1, false},
	{fault{kinds: callUnlink, errno: syscall.EIO}, 1, true},
	{fault{kinds: callWrite, errno: syscall.EIO, part: halfOfIt}, 1, true},
	{fault{kinds: callWrite, errno: syscall.ENOSPC, sticky: true}, 1, true},
	{fault{kinds: callSync, errno: syscall.EIO}, 1, true},
	{fault{kinds: callTruncate, errno: syscall.EIO}, 1, true},
	{fault{kinds: callRead, errno: syscall.EIO}, 1, false},
	{fault{kinds: callMap, errno: syscall.ENOMEM}, 1, false},
	{fault{kinds: callSyncFolder, errno: syscall.EIO}, 1, false},
	{fault{kinds: callWrite, errno: syscall.ENOSPC}, 3, false},
	{fault{kinds: callWrite, errno: syscall.EIO, part: halfOfIt}, 3, false},
	{fault{kinds: callSync, errno: syscall.EIO}, 3, false},
}

// noon is where the clock of the callers stands.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func init() {
	// It lets the first call of a trial fail, then the next, until the callers get
	// through without meeting the fault.
	parts["meet-faults"] = func(ctx context.Context, args []string) error {
		var numbers [3]int
		for i := range numbers {
			numbers[i], _ = strconv.Atoi(args[1+i])
		}
		i, first, step := numbers[0], numbers[1], numbers[2]
		c, err := openControl()
		if err != nil {
			return err
		}
		model := filepath.Join(args[0], "model.db")
		options := sqlite.Options{Clock: clock.NewFake(noon)}
		if err := sqlite.Create(ctx, model, options); err != nil {
			return err
		}
		fresh, err := os.ReadFile(model)
		if err != nil {
			return err
		}
		for n, met := int64(first), 0; ; n += int64(step) {
			dir := filepath.Join(args[0], fmt.Sprint(n))
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			path := filepath.Join(dir, "q.db")
			if err := os.WriteFile(path, fresh, 0o600); err != nil {
				return err
			}
			failed, err := trials[i].meet(ctx, path, options, c, n)
			if err != nil {
				return fmt.Errorf("the %dth call failed with %v: %w", n, trials[i], err)
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			if !failed {
				fmt.Println(met)
				return nil
			}
			met++
		}
	}
}

// meet lets the n-th call fail and checks every answer; it reports whether there
// was such a call.
func (tr trial) meet(ctx context.Context, path string, options sqlite.Options, c *control, n int64) (met bool, err error) {
	callers, found, err := tr.play(ctx, path, options, c, n)
	c.disarm()
	met = c.faults() > 0
	if err != nil {
		return met, err
	}
	if found != nil {
		path = filepath.Join(filepath.Dir(path), "found.db")
		for suffix, content := range found {
			if err := os.WriteFile(path+suffix, content, 0o600); err != nil {
				return met, err
			}
		}
	}
	q, err := sqlite.Open(ctx, path, options)
	if err != nil {
		return met, fmt.Errorf("without the fault: %w", err)
	}
	for _, c := range callers {
		err = errors.Join(err, c.check(q))
	}
	return met, errors.Join(err, sound(path), q.Close())
}

// play answers the callers, and in some cases the files as a kill after the last
// answer leaves them. That reading them here drops the locks on them harms nobody:
// no other process has them open.
func (tr trial) play(ctx context.Context, path string, options sqlite.Options, c *control, n int64) (callers []*caller, found map[string][]byte, err error) {
	c.arm(tr.fault, n)
	if tr.closing {
		c.disarm()
	}
	q, err := sqlite.Open(ctx, path, options)
	if err != nil {
		if c.faults() == 0 {
			return nil, nil, err
		}
		return nil, nil, nil // said at once, and nothing was promised
	}
	before := c.faults()
	var wg sync.WaitGroup
	for i := range tr.callers {
		var chance *rand.Rand
		if tr.callers > 1 {
			chance = rand.New(rand.NewPCG(uint64(n), uint64(i)))
		}
		caller := newCaller(fmt.Sprintf("kind%d", i), q, chance)
		caller.stops = tr.part == allOfIt
		callers = append(callers, caller)
		wg.Go(func() { caller.play(noon) })
	}
	wg.Wait()
	if !tr.closing && (n%2 == 0 || tr.part == allOfIt) {
		found = map[string][]byte{}
		for _, suffix := range []string{"", "-wal"} {
			if content, e := os.ReadFile(path + suffix); e == nil {
				found[suffix] = content
			}
		}
	}
	failed := c.faults() > before
	// Once the fault is gone, the queue goes on or says that it is closed.
	c.disarm()
	last := newCaller("last", q, nil)
	last.enqueue("word", 10)
	if found == nil { // which was before
		callers = append(callers, last)
	}
	answer := last.jobs["word"][0].err
	switch {
	case failed && tr.kinds == callSync && !errors.Is(answer, queue.ErrClosed):
		err = fmt.Errorf("a sync failed and the queue answers %v", answer)
	case tr.errno == syscall.EDQUOT && errors.Is(answer, queue.ErrFull):
		// The reserve is given up, and there is a pause before it is filled again.
	case answer != nil && !errors.Is(answer, queue.ErrClosed):
		err = fmt.Errorf("the fault is gone and the queue answers %w", answer)
	}
	if tr.closing {
		c.arm(tr.fault, n)
	}
	if e := q.Close(); e != nil && !tr.closing && answer == nil {
		err = errors.Join(err, e)
	}
	return callers, found, err
}

// At every call that SQLite makes, errors of every kind: the answers that the
// callers had are true when the file is opened again.
func TestInjectedErrors(t *testing.T) {
	t.Parallel()
	work := make(chan int)
	var mu sync.Mutex
	total := 0
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for i := range work {
				began := time.Now()
				dir := memoryFolder(t)
				// Writes are many; each fails in one way or another.
				first, step := 1, 1
				if tr := trials[i]; tr.kinds&callWrite != 0 && tr.part != allOfIt && !*everyFault {
					first, step = 1+i%3, 3*trials[i].callers
				}
				cmd := shimmed(t, dir, "", "meet-faults", dir, i, first, step)
				out, err := cmd.Output()
				if err != nil {
					t.Errorf("%v, %d callers: %v", trials[i].fault, trials[i].callers, err)
				}
				n, _ := strconv.Atoi(strings.TrimSpace(string(out)))
				mu.Lock()
				total += n
				mu.Unlock()
				t.Logf("%v, %d callers: %d faults in %v", trials[i].fault, trials[i].callers, n, time.Since(began).Round(time.Millisecond))
			}
		})
	}
	for i := range trials {
		work <- i
	}
	close(work)
	workers.Wait()
	t.Logf("%d faults", total)
}
