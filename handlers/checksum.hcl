# What the block handler "checksum" { } would hold; the file beside it is the command.
protocol   = "lines" # one process, many jobs
repeatable = true    # reading a file twice does no harm
