package config

import (
	"path/filepath"
	"strings"
)

// Default is the text of the commented config.hcl that suits the folder dir,
// and what a newcomer reads about settings. In /etc/bailiff the database, the
// state and the snapshots lie where system services keep theirs, in the user's
// own $XDG_CONFIG_HOME/bailiff under $XDG_STATE_HOME/bailiff, everywhere else
// beside the file. Whoever writes it makes those folders.
func Default(dir string) string {
	database, state, backups := DefaultDatabase, DefaultStateDir, DefaultBackupFolder
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	switch own := userDir("XDG_CONFIG_HOME", ".config"); {
	case dir == filepath.Dir(SystemFile):
		database, state, backups = "/var/lib/bailiff/bailiff.db", "/run/bailiff", "/var/lib/bailiff/backups"
	case own != "" && dir == filepath.Join(own, "bailiff"):
		home := filepath.Join(userDir("XDG_STATE_HOME", ".local/state"), "bailiff")
		database, state, backups = filepath.Join(home, "bailiff.db"), filepath.Join(home, "state"), filepath.Join(home, "backups")
	}
	return strings.NewReplacer(
		`= "`+DefaultDatabase+`"`, "= "+quote(database),
		`= "`+DefaultStateDir+`"`, "= "+quote(state),
		`= "`+DefaultBackupFolder+`"`, "= "+quote(backups),
	).Replace(defaultText)
}

const defaultText = `# How bailiff works here: every setting there is, and what it is when not set.
#
# A line that begins with a # and no space after it is a setting at its default;
# take the # away to change it. "bailiff check" tells what is wrong with this
# file, "bailiff check --effective" what is in force and where it comes from. A
# running service notices when this file is saved; one with a mistake in it
# changes nothing.
#
# Relative paths start in this file's folder. Durations are a number and a unit
# in quotes: "500ms", "30s", "2m", "1h30m", "7d", "2w"; "0s" is none. So are sizes:
# "512KiB", "64MiB", "1GiB"; "KB", "MB", "GB" are powers of 1000. In texts, ${…}
# is HCL's own: write $${…} for the characters themselves. What must stay secret
# comes from env("NAME") or file("path") and is never printed.

database     = "bailiff.db"
handlers_dir = "handlers" # each executable file in it is a handler: mail.sh runs the jobs of kind "mail"
state_dir    = "state"    # the lock, the status; one service at a time

# No job is started while the database's file system has less free space than
# this; those that run go on.
#min_free = "64MiB"

# SQLite can lose data on network file systems whose locks do not hold (NFS, SMB):
# there bailiff refuses to work. True insists.
#network_fs = false

# The right to work on a job, renewed as long as its handler works. If it cannot
# be renewed, the handler is killed before the lease ends.
#lease {
#  duration = "30s" # 1s to 24h
#  renew    = "10s" # at most half of duration; not set, a third of it
#}

# How long running jobs may go on when the service is told to stop.
#shutdown {
#  drain = "30s"
#}

#log {
#  level  = "info" # trace, debug, info, warn, error
#  format = "text" # or "json"
#}

# How long finished jobs are kept, counted from their end: at least "1m", or
# "forever". Their keys stay taken afterwards, the rest of them is forgotten.
# Quarantined jobs are kept until somebody decides.
#retention {
#  done      = "7d"
#  cancelled = "7d"
#  dead      = "180d"
#}

# With this block, an empty one too, the service makes snapshots of the database
# by itself: a file each, NAME-1a2b3c4d-20261130T020000Z.db, verified before
# older ones are removed. "bailiff restore" makes a database of one.
#backup {
#  every  = "24h"     # at least "1m"; one that was missed is made at the next start
#  folder = "backups" # best on another disk; an absolute path must be there
#  keep   = 7         # 1 to 1000
#}

# For every handler, also those in handlers_dir; a handler's own setting wins,
# of env and inherit_env the two are joined.
#defaults {
#  protocol      = "plain" # one process per job; "lines": one process, many jobs
#  concurrency   = 1       # jobs at once
#  timeout       = "1h"    # of one run
#  liveness      = "0s"    # longest silence
#  grace         = "10s"   # between being asked to stop and being killed
#  start_timeout = "2m"    # lines: until it says that it is ready
#  idle_timeout  = "10m"   # lines: an unused process ends after this
#  max_jobs      = 0       # lines: then a fresh process; 0: never
#  warm          = 0       # lines: processes that stay although unused
#  repeatable    = false   # true: running a job twice does no harm
#  dir           = "."     # where it runs
#  env           = {}      # { MODEL = "small", TOKEN = file("token") }
#  inherit_env   = []      # names to pass on, ["AWS_REGION"]; nothing else is
#
# A job that failed is tried again after base_delay, then after twice as long,
# and so on up to max_delay; jitter is the part of that which is left to chance.
#  retry {
#    max_attempts = 20
#    base_delay   = "10s"
#    max_delay    = "1h"
#    jitter       = 0.1
#  }
#}

# A handler that is a command needs a block. It takes all that defaults takes. A
# handler in handlers_dir may have the same settings, without the block around
# them and without command, in a file beside it: mail.hcl for mail.sh.
#handler "example" {
#  command = ["./example.sh", "--fast"] # a list of arguments: no shell is in between
#
# A first word with a / in it is a path like the others here, whatever dir is; one
# without is looked up in PATH. The other words are passed on as they are, so a
# relative path among them starts in dir.
#
# Of a plain handler: what exit statuses mean beside 0 (done), 65 (never will),
# 75 (try later) and 76 (nobody knows, ask).
#  exit {
#    dead  = []
#    retry = []
#    other = "retry" # or "uncertain": ask
#  }
#}
`
