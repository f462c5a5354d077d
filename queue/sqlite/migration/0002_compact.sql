-- The compact layout: what a finished job leaves behind costs as little as it can.
--
-- A digest is kept as its first 16 bytes: enough to tell two texts apart, and too
-- many to find a second one for. The result of a run has a row of its own, so that
-- settling does not write the payload's again. A handler's file is named once, in
-- handler_files, however many runs it had. A row of the history that stands for one
-- occurrence has no last_at and last_fence: they are its at and fence.
--
-- SQLite cannot change the checks of a column, so the tables are made anew and take
-- the names of the old ones. Foreign keys are off meanwhile and are checked at the
-- end (migrate.go).

DROP VIEW job_view;
DROP VIEW history_view;

-- One row: which queue this is. A restored copy keeps uid and raises
-- fence_floor, from which the fences of new jobs start.
CREATE TABLE new_queue (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    uid         BLOB    NOT NULL CHECK (length(uid) = 16),
    fence_floor INTEGER NOT NULL CHECK (fence_floor BETWEEN 0 AND 9007199254740991),
    created_at  INTEGER NOT NULL,
    snapshot_at INTEGER,  -- this file is a snapshot taken then, not a queue to be used
    restored_at INTEGER   -- this queue was made from a snapshot then
) STRICT;

INSERT INTO new_queue (one, uid, fence_floor, created_at) SELECT one, uid, fence_floor, created_at FROM queue;
DROP TABLE queue;
ALTER TABLE new_queue RENAME TO queue;

CREATE TABLE handler_files (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE
) STRICT;

INSERT INTO handler_files (digest)
SELECT handler FROM history WHERE handler IS NOT NULL UNION SELECT handler FROM leases WHERE handler IS NOT NULL;

CREATE TABLE new_jobs (
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

INSERT INTO new_jobs (id, kind_id, key, state, priority, due_at, due_boot, due_mono, attempt, named_limit, last_limit,
    fence, marked, effects_possible, needs_review, created_at, updated_at, finished_at, concurrency_key, last_error,
    settled_token, settled_outcome)
SELECT id, kind_id, key, state, priority, due_at, due_boot, due_mono, attempt, named_limit, last_limit,
    fence, marked, effects_possible, needs_review, created_at, updated_at, finished_at, concurrency_key, last_error,
    substr(settled_token, 1, 16), substr(settled_outcome, 1, 16)
FROM jobs ORDER BY id;

-- No id is given out twice.
DELETE FROM sqlite_sequence WHERE name = 'new_jobs';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_jobs', seq FROM sqlite_sequence WHERE name = 'jobs';
DROP TABLE jobs;
ALTER TABLE new_jobs RENAME TO jobs;

-- A rowid ends every index, so equal jobs come out lowest id first. Each index
-- holds only the jobs it is for: a claim does not feel the others.
CREATE INDEX jobs_ready     ON jobs (kind_id, priority DESC, due_at)  WHERE state = 2;
CREATE INDEX jobs_scheduled ON jobs (kind_id, due_at)                 WHERE state = 1;
CREATE INDEX jobs_delayed   ON jobs (kind_id, due_boot, due_mono, due_at) WHERE state = 1 AND due_mono IS NOT NULL;
CREATE INDEX jobs_finished  ON jobs (kind_id, state, finished_at)     WHERE state IN (4, 5, 7) AND kept = 0;
-- The jobs of a kind and state by id, for lists. The leased ones are in leases.
CREATE INDEX jobs_listed    ON jobs (kind_id, state)                  WHERE state <> 3;
-- Leased jobs that somebody asked to cancel.
CREATE INDEX jobs_marked    ON jobs (id)                              WHERE marked = 1 AND state = 3;

CREATE TABLE results (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
    result TEXT NOT NULL
) STRICT;

INSERT INTO results (job_id, result) SELECT job_id, result FROM job_data WHERE result IS NOT NULL ORDER BY job_id;

CREATE TABLE new_job_data (
    job_id  INTEGER PRIMARY KEY REFERENCES jobs (id),
    -- First, to be read without the pages that a large payload takes.
    digest  BLOB NOT NULL CHECK (length(digest) = 16),  -- of the payload in canonical form
    payload TEXT NOT NULL,  -- as it was enqueued
    meta    TEXT
) STRICT;

INSERT INTO new_job_data (job_id, digest, payload, meta)
SELECT job_id, substr(digest, 1, 16), payload, meta FROM job_data ORDER BY job_id;
DROP TABLE job_data;
ALTER TABLE new_job_data RENAME TO job_data;

-- One row for each leased job and no other. A renewal touches nothing else.
CREATE TABLE new_leases (
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

INSERT INTO new_leases (job_id, fence, token, worker_id, boot_id, length, deadline_mono, expires_mono,
    uncertain, attempt_limit, handler_id, guardian, start, claimed_at)
SELECT job_id, fence, substr(token, 1, 16), worker_id, boot_id, length, deadline_mono, expires_mono,
    uncertain, attempt_limit, (SELECT id FROM handler_files WHERE digest = handler), guardian, start, claimed_at
FROM leases ORDER BY job_id;
DROP TABLE leases;
ALTER TABLE new_leases RENAME TO leases;

-- The next to be expired of each boot, and which boots there are.
CREATE INDEX leases_expiry ON leases (boot_id, expires_mono);

CREATE TABLE new_history (
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

INSERT INTO new_history (job_id, seq, at, event, from_state, to_state, attempt, fence, worker_id, handler_id, detail,
    count, last_at, last_fence)
SELECT job_id, seq, at, event, from_state, to_state, attempt, fence, worker_id,
    (SELECT id FROM handler_files WHERE digest = handler), detail,
    count, CASE WHEN count > 1 THEN last_at END, CASE WHEN count > 1 THEN last_fence END
FROM history ORDER BY job_id, seq;
DROP TABLE history;
ALTER TABLE new_history RENAME TO history;

-- Keys of jobs that were pruned: the same key again is still a replay.
CREATE TABLE new_remembered (
    kind_id     INTEGER NOT NULL REFERENCES kinds (id),
    key         TEXT    NOT NULL,
    job_id      INTEGER NOT NULL,
    digest      BLOB    NOT NULL CHECK (length(digest) = 16),
    named_limit INTEGER NOT NULL,
    state       INTEGER NOT NULL CHECK (state BETWEEN 1 AND 7),
    finished_at INTEGER NOT NULL,
    PRIMARY KEY (kind_id, key)
) STRICT, WITHOUT ROWID;

INSERT INTO new_remembered (kind_id, key, job_id, digest, named_limit, state, finished_at)
SELECT kind_id, key, job_id, substr(digest, 1, 16), named_limit, state, finished_at FROM remembered ORDER BY kind_id, key;
DROP TABLE remembered;
ALTER TABLE new_remembered RENAME TO remembered;

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
