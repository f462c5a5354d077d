CREATE VIEW history_view AS
SELECT h.job_id, h.seq,
       strftime('%Y-%m-%dT%H:%M:%fZ', h.at / 1000.0, 'unixepoch') AS at,
       e.word AS event, f.word AS from_state, t.word AS to_state,
       h.attempt, h.fence, w.name AS worker, h.detail, h.count,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(h.last_at, h.at) / 1000.0, 'unixepoch') AS last_at,
       coalesce(h.last_fence, h.fence) AS last_fence
FROM history h
JOIN event_word e ON e.code = h.event
LEFT JOIN state_word f ON f.code = h.from_state
JOIN state_word t ON t.code = h.to_state
LEFT JOIN workers w ON w.id = h.worker_id;

CREATE VIEW job_view AS
SELECT j.id, k.name AS kind, j.key, s.word AS state, j.priority, j.attempt,
       coalesce(nullif(j.named_limit, 0), nullif(j.last_limit, 0)) AS max_attempts,
       j.fence,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.due_at / 1000.0, 'unixepoch')      AS available_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at / 1000.0, 'unixepoch')  AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.updated_at / 1000.0, 'unixepoch')  AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.finished_at / 1000.0, 'unixepoch') AS finished_at,
       w.name AS worker, j.marked AS cancel_requested,
       j.effects_possible AS external_effects_possible, j.last_error,
       d.payload, d.meta, r.result
FROM jobs j
JOIN kinds k ON k.id = j.kind_id
JOIN state_word s ON s.code = j.state
LEFT JOIN job_data d ON d.job_id = j.id
LEFT JOIN results r ON r.job_id = j.id
LEFT JOIN leases l ON l.job_id = j.id
LEFT JOIN workers w ON w.id = l.worker_id;

CREATE TABLE boots (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE commit_mark (
    slot  INTEGER PRIMARY KEY CHECK (slot BETWEEN 0 AND 255),
    nonce INTEGER NOT NULL
) STRICT;

CREATE TABLE counts (
    kind_id INTEGER NOT NULL REFERENCES kinds (id),
    state   INTEGER NOT NULL CHECK (state BETWEEN 1 AND 7),
    n       INTEGER NOT NULL CHECK (n >= 0),
    PRIMARY KEY (kind_id, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE effect_word (
    code INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE effects (
    job_id     INTEGER NOT NULL REFERENCES jobs (id),
    seq        INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    state      INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
    fence      INTEGER NOT NULL,  -- the run that began it
    repeatable INTEGER NOT NULL CHECK (repeatable IN (0, 1)),
    voids      INTEGER NOT NULL,  -- how often the effect was voided before: part of its key
    proof      BLOB,              -- digest of the run's token and secret: good for its receipt
    begun_at   INTEGER NOT NULL,
    settled_at INTEGER,
    receipt    TEXT,
    note       TEXT,
    PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE event_word (
    code INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE handler_files (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE "history" (
    job_id     INTEGER NOT NULL REFERENCES jobs (id),
    seq        INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    event      INTEGER NOT NULL CHECK (event BETWEEN 1 AND 15),
    from_state INTEGER CHECK (from_state BETWEEN 1 AND 7),
    to_state   INTEGER NOT NULL CHECK (to_state BETWEEN 1 AND 7),
    attempt    INTEGER NOT NULL,
    fence      INTEGER NOT NULL,
    worker_id  INTEGER REFERENCES workers (id),
    handler_id INTEGER REFERENCES handler_files (id),
    detail     TEXT,
    -- A claim and the snooze that ended it, equal to the pair before, are
    -- counted there and add no rows.
    count      INTEGER NOT NULL DEFAULT 1 CHECK (count >= 1),
    last_at    INTEGER,
    last_fence INTEGER,
    PRIMARY KEY (job_id, seq),
    CHECK ((last_at IS NULL) = (count = 1)),
    CHECK ((last_fence IS NULL) = (count = 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE "job_data" (
    job_id  INTEGER PRIMARY KEY REFERENCES jobs (id),
    -- First, to be read without the pages that a large payload takes.
    digest  BLOB NOT NULL CHECK (length(digest) = 16),  -- of the payload in canonical form
    payload TEXT NOT NULL,  -- as it was enqueued
    meta    TEXT
) STRICT;

CREATE TABLE "jobs" (
    id               INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id < 9007199254740992),
    kind_id          INTEGER NOT NULL REFERENCES kinds (id),
    key              TEXT    NOT NULL,
    state            INTEGER NOT NULL CHECK (state BETWEEN 1 AND 7),
    priority         INTEGER NOT NULL CHECK (priority BETWEEN -100 AND 100),
    due_at           INTEGER NOT NULL,
    -- A delay counted on the monotonic clock of a boot beside due_at; whichever
    -- comes first makes the job due, so that a wall clock set back delays nothing.
    -- Not a reference: what is left of it in a job that does not wait outlives the
    -- boot.
    due_boot         INTEGER,
    due_mono         INTEGER,
    attempt          INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    named_limit      INTEGER NOT NULL DEFAULT 0 CHECK (named_limit >= 0),  -- 0: the enqueuer named none
    last_limit       INTEGER NOT NULL DEFAULT 0 CHECK (last_limit >= 0),   -- of the last lease; 0: none yet
    fence            INTEGER NOT NULL CHECK (fence BETWEEN 0 AND 9007199254740991),
    marked           INTEGER NOT NULL DEFAULT 0 CHECK (marked IN (0, 1)),
    effects_possible INTEGER NOT NULL DEFAULT 0 CHECK (effects_possible IN (0, 1)),
    needs_review     INTEGER NOT NULL DEFAULT 0 CHECK (needs_review IN (0, 1)),
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    finished_at      INTEGER,
    -- A prune found the finished job with an open effect, left it, and does not look
    -- at it again. Any transition clears it, and so must whatever settles an effect.
    kept             INTEGER NOT NULL DEFAULT 0 CHECK (kept IN (0, 1)),
    concurrency_key  TEXT,
    last_error       TEXT,
    -- Digests of the token that settled last and of what it said: the same
    -- again is a replay. Any later transition but a promotion clears them.
    settled_token    BLOB CHECK (length(settled_token) = 16),
    settled_outcome  BLOB CHECK (length(settled_outcome) = 16),
    UNIQUE (kind_id, key),
    CHECK ((due_boot IS NULL) = (due_mono IS NULL)),
    CHECK ((settled_token IS NULL) = (settled_outcome IS NULL)),
    CHECK ((finished_at IS NOT NULL) = (state IN (4, 5, 7))),
    CHECK (marked = 0 OR state NOT IN (1, 2))
) STRICT;

CREATE TABLE kinds (
    id     INTEGER PRIMARY KEY,
    name   TEXT    NOT NULL UNIQUE,
    paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1))
) STRICT;

CREATE TABLE "leases" (
    job_id        INTEGER PRIMARY KEY REFERENCES jobs (id),
    fence         INTEGER NOT NULL,
    token         BLOB    NOT NULL CHECK (length(token) = 16),  -- its digest
    worker_id     INTEGER NOT NULL REFERENCES workers (id),
    boot_id       INTEGER NOT NULL REFERENCES boots (id),
    length        INTEGER NOT NULL,  -- nanoseconds
    deadline_mono INTEGER NOT NULL,  -- the token is refused from here on
    expires_mono  INTEGER NOT NULL,  -- others may expire the lease from here on
    uncertain     INTEGER NOT NULL CHECK (uncertain BETWEEN 1 AND 4),
    attempt_limit INTEGER NOT NULL CHECK (attempt_limit >= 1),
    handler_id    INTEGER REFERENCES handler_files (id),
    guardian      TEXT,              -- whose children work under it; NULL: claimed by hand
    start         INTEGER,
    claimed_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE "queue" (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    uid         BLOB    NOT NULL CHECK (length(uid) = 16),
    fence_floor INTEGER NOT NULL CHECK (fence_floor BETWEEN 0 AND 9007199254740991),
    created_at  INTEGER NOT NULL,
    snapshot_at INTEGER,  -- this file is a snapshot taken then, not a queue to be used
    restored_at INTEGER   -- this queue was made from a snapshot then
) STRICT;

CREATE TABLE "remembered" (
    kind_id     INTEGER NOT NULL REFERENCES kinds (id),
    key         TEXT    NOT NULL,
    job_id      INTEGER NOT NULL,
    digest      BLOB    NOT NULL CHECK (length(digest) = 16),
    named_limit INTEGER NOT NULL,
    state       INTEGER NOT NULL CHECK (state BETWEEN 1 AND 7),
    finished_at INTEGER NOT NULL,
    PRIMARY KEY (kind_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE results (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
    result TEXT NOT NULL
) STRICT;

CREATE TABLE state_word (
    code INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE uncertain_word (
    code INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE workers (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE INDEX jobs_delayed   ON jobs (kind_id, due_boot, due_mono, due_at) WHERE state = 1 AND due_mono IS NOT NULL;

CREATE INDEX jobs_finished  ON jobs (kind_id, state, finished_at)     WHERE state IN (4, 5, 7) AND kept = 0;

CREATE INDEX jobs_listed    ON jobs (kind_id, state)                  WHERE state <> 3;

CREATE INDEX jobs_marked    ON jobs (id)                              WHERE marked = 1 AND state = 3;

CREATE INDEX jobs_ready     ON jobs (kind_id, priority DESC, due_at)  WHERE state = 2;

CREATE INDEX jobs_scheduled ON jobs (kind_id, due_at)                 WHERE state = 1;

CREATE INDEX leases_expiry ON leases (boot_id, expires_mono);

