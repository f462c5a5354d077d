#!/usr/bin/env python3
"""checksum: {"path":"go.mod"} gives {"path":…,"sha256":…,"size":…}.

A lines handler in plain Python, 3.8 or later: one process, many jobs, one JSON
object a line. A relative path is relative to the handler's folder (dir).
"""
import hashlib
import json
import os
import stat
import sys

# The protocol gets a descriptor of its own; whatever is printed goes to the log.
protocol = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(2, 1)


class Dead(Exception):
    """This job will never succeed."""


def say(**message):
    # One message, one line, at once. NaN is no JSON: better an exception here.
    protocol.write(json.dumps(message, allow_nan=False) + "\n")
    protocol.flush()


def checksum(job):
    payload = job["payload"]
    path = payload.get("path") if isinstance(payload, dict) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise Dead('payload: {"path":"…"} is expected')
    # Opening a pipe that nobody writes to would wait for ever without O_NONBLOCK.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        os.close(descriptor)
        raise Dead("%s: not a regular file" % path)
    digest, size = hashlib.sha256(), 0
    with os.fdopen(descriptor, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
            size += len(part)
            if size % (64 << 20) == 0:
                say(type="progress", id=job["id"], percent=min(100, 100 * size / max(info.st_size, 1)))
    return {"path": path, "sha256": digest.hexdigest(), "size": size}


say(type="ready", protocol=1)
for line in sys.stdin.buffer:  # by LF alone; as text, Python would decode by locale
    message = json.loads(line)
    if message.get("type") != "job":
        continue  # cancel: a SIGTERM follows, and reading a file twice does no harm
    try:
        result = checksum(message)
    except (Dead, FileNotFoundError, NotADirectoryError) as problem:
        say(type="dead", id=message["id"], reason=str(problem))
    except OSError as problem:
        say(type="retry", id=message["id"], reason=str(problem))
    else:
        say(type="done", id=message["id"], result=result)
