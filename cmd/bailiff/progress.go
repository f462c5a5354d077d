package main

import (
	"context"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on stderr where that is a terminal; size is -1 where it is not
// known. What is written to stderr meanwhile needs a Clear before it.
func (a *app) progress(what string, size int64, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(size, append([]progressbar.Option{
		progressbar.OptionSetWriter(a.errOut),
		progressbar.OptionSetDescription(what),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(isTerminal(a.errOut)),
	}, more...)...)
}

// inBytes lets a bar count bytes.
func inBytes() progressbar.Option { return progressbar.OptionShowBytes(true) }

// inJobs lets a bar count jobs.
func inJobs() progressbar.Option {
	return func(p *progressbar.ProgressBar) {
		progressbar.OptionShowCount()(p)
		progressbar.OptionShowIts()(p)
		progressbar.OptionSetItsString("jobs")(p)
	}
}

// size says a number of bytes as a person would.
func size(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1024 {
		return plural(bytes, "byte")
	}
	n := float64(bytes)
	unit := -1
	for n >= 1023.5 && unit+1 < len(units) {
		n /= 1024
		unit++
	}
	if n < 9.95 {
		return fmt.Sprintf("%.1f %ciB", n, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", n, units[unit])
}

// rest waits for d, or until ctx ends, and then answers its cause.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// copyProgress is a bar for a copy of a file, and what moves it.
func (a *app) copyProgress(what string) (bar *progressbar.ProgressBar, copied func(done, total int64)) {
	bar = a.progress(what, -1, inBytes())
	return bar, func(done, total int64) {
		if total != bar.GetMax64() {
			bar.ChangeMax64(total)
		}
		_ = bar.Set64(done)
	}
}
