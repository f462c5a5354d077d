package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue"
)

// holderGone says that the service which holds a leased job has ended without
// settling it, and when that is decided; empty where it may still run. A service is
// named after its host and its pid; what another host, or another PID namespace,
// calls so cannot be seen.
func holderGone(j *queue.Job) string {
	host, number, ok := strings.Cut(j.Worker, ":")
	pid, err := strconv.Atoi(number)
	here, hostErr := os.Hostname()
	if !ok || err != nil || pid < 1 || hostErr != nil || host != here || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return ""
	}
	left := "with the next look of a service"
	if wait := j.LeaseExpiresAt.Sub(now()); wait > 0 {
		left = "when the lease ends, in " + span(wait)
	}
	return fmt.Sprintf("its holder (pid %d) is gone; what becomes of it is decided %s", pid, left)
}
