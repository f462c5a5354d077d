package main

import (
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWithin bounds a wait by wall-clock time, for the few promises that are
// about time. The bound should be several times what is promised: machines that
// run tests are loaded.
func cmdWithin(ts *testscript.TestScript, neg bool, args []string) {
	waits := map[string]func(*testscript.TestScript, bool, []string){
		"waitjob": cmdWaitJob, "waitstatus": cmdWaitStatus, "waitfile": cmdWaitFile,
		"waitgrep": cmdWaitGrep, "ended": cmdEnded, "status": cmdStatus,
	}
	if neg || len(args) < 2 || waits[args[1]] == nil {
		ts.Fatalf("usage: within SECONDS COMMAND…")
	}
	bound, err := strconv.ParseFloat(args[0], 64)
	ts.Check(err)
	began := time.Now()
	waits[args[1]](ts, false, args[2:])
	took := time.Since(began)
	ts.Logf("took %s", took.Round(time.Millisecond))
	if took > time.Duration(bound*float64(time.Second)) {
		ts.Fatalf("took longer than %s s", args[0])
	}
}
