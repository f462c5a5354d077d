# What the block handler "titlecase" { } would hold; the file beside it is the command.
protocol   = "lines" # one process, many jobs
repeatable = true    # the same text gives the same title
