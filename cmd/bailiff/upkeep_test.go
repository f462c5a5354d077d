package main

import (
	"slices"
	"testing"
	"time"

	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/upkeep"
)

func TestUpkeepLines(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 5, 0, 0, 0, time.UTC)
	backup := func(change func(*upkeep.BackupStatus)) *upkeep.Status {
		b := upkeep.BackupStatus{
			EverySeconds: 86400, Folder: "/srv/snapshots",
			LastAt: now.Add(-3 * time.Hour), LastBytes: 12 << 20, NextAt: now.Add(21 * time.Hour),
		}
		if change != nil {
			change(&b)
		}
		return &upkeep.Status{Backup: &b}
	}
	for name, test := range map[string]struct {
		status *upkeep.Status
		want   []string
	}{
		"not looked after": {nil, nil},
		"no snapshots":     {&upkeep.Status{}, nil},
		"fine":             {backup(nil), []string{"last backup 3 h ago, 12 MiB, next in 21 h"}},
		"the first": {backup(func(b *upkeep.BackupStatus) {
			b.LastAt, b.RunningSince = time.Time{}, now.Add(-5*time.Second)
		}), []string{"no backup yet, one is being made since 5 s"}},
		"too old": {backup(func(b *upkeep.BackupStatus) {
			b.LastAt, b.NextAt = now.Add(-50*time.Hour), now.Add(time.Minute)
		}), []string{"BACKUP TOO OLD: last backup 2 days ago, 12 MiB, but one is to be made every 1 day, next in 1 min; folder /srv/snapshots"}},
		"failed": {backup(func(b *upkeep.BackupStatus) {
			b.Error, b.Failures, b.NextAt = "disk full", 3, now.Add(4*time.Minute)
		}), []string{"NO BACKUP: tried 3 times in vain: disk full\n  last backup 3 h ago, 12 MiB, next in 4 min; folder /srv/snapshots"}},
		"not pruned": {&upkeep.Status{Prune: upkeep.PruneStatus{Error: "prune: busy"}},
			[]string{"finished jobs are not forgotten for now: prune: busy"}},
	} {
		if got := upkeepLines(test.status, now); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestStoppedLines(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{
		Lease:    config.Lease{Duration: 30 * time.Second},
		Handlers: map[string]*config.Handler{"safe": {Repeatable: true}, "mail": {}},
	}
	run := func(id int64, kind string, pid int) supervisor.RunStatus {
		return supervisor.RunStatus{ID: id, Kind: kind, Key: "k\x1b", Fence: 2, PID: pid}
	}
	const stand = "they stand as leased until their leases end by themselves, at most 30 s from now; then"
	for name, test := range map[string]struct {
		stopped []supervisor.RunStatus
		want    []string
	}{
		"none": {nil, []string{"no job was running"}},
		"both kinds": {[]supervisor.RunStatus{run(1, "safe", 7), run(2, "mail", 0), run(3, "gone", 9), run(4, "mail", 8)}, []string{
			`killed at once, nothing of it recorded: #1 safe/k\x1b (run 2, pid 7), #2 mail/k\x1b (run 2), #3 gone/k\x1b (run 2, pid 9), #4 mail/k\x1b (run 2, pid 8)`,
			stand + " those of safe are tried again (repeatable), and those of mail, gone are quarantined: nobody knows how far they came",
		}},
	} {
		if got := stoppedLines(test.stopped, cfg); !slices.Equal(got, test.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, test.want)
		}
	}
	if got := stoppedLines(slices.Repeat([]supervisor.RunStatus{run(1, "safe", 7)}, 25), cfg)[0]; got[len(got)-10:] != "and 5 more" {
		t.Errorf("of 25: %s", got)
	}
}
