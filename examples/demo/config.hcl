# The demo's own queue: the handlers that ship, and a lease short enough that a
# supervisor killed on purpose is made up for within seconds.

database     = "demo.db"
state_dir    = "state"
handlers_dir = "../../handlers"

lease {
  duration = "2s"
}

log {
  level = "error"
}

defaults {
  concurrency = 2
  repeatable  = true # reading a file twice does no harm: a run cut short is tried again
}

handler "wordcount" {
  command  = ["../../bin/wordcount"]
  protocol = "lines"
}
