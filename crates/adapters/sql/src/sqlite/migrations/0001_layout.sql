-- The layout of a LineUp store. See docs/adr/0003-store-layout.md.

-- 'LnUp': how this file is told from anybody else's database.
PRAGMA application_id = 1282299248;

-- Who owns what. `no` is the workspace's number in this file; `epoch` grows with each owner.
CREATE TABLE workspaces (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    last_batch INTEGER NOT NULL,
    fences INTEGER NOT NULL,
    time TEXT
) STRICT;

-- The last guard of ownership: a commit names its owner's epoch.
CREATE TRIGGER workspaces_fence BEFORE UPDATE OF last_batch ON workspaces WHEN NEW.epoch <> OLD.epoch
BEGIN
    SELECT RAISE(ABORT, 'fenced');
END;

-- What happened; append-only. id = workspaces.no << 40 | place in the workspace's journal.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    actor TEXT NOT NULL,
    happened TEXT NOT NULL,
    subject TEXT NOT NULL,
    call TEXT,
    previous INTEGER,
    code TEXT,
    wall INTEGER NOT NULL,
    effective INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

-- What a repeat is known by. Narrow; the full key is in the journal row at `taken`.
CREATE TABLE entries (
    workspace INTEGER NOT NULL,
    lookup BLOB NOT NULL,
    taken INTEGER NOT NULL,
    PRIMARY KEY (workspace, lookup)
) STRICT, WITHOUT ROWID;

-- Which row ended what was taken in. id = the journal id of `taken`; ended = a place.
CREATE TABLE endings (
    id INTEGER PRIMARY KEY,
    ended INTEGER NOT NULL
) STRICT;

-- Unfinished calls. id = the journal id of the acceptance, which holds the call's facts.
CREATE TABLE open_calls (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- Messages that are to be sent. The bodies are in the journal row, `idx` counts in it from 0.
CREATE TABLE outbox (
    journal INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    PRIMARY KEY (journal, idx)
) STRICT, WITHOUT ROWID;

-- Everything else that is live, and latest values: kind is action, instance, activation, operation,
-- focus, inbox, conversation, policy, host_profile, app or publication.
CREATE TABLE records (
    workspace INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace, kind, id)
) STRICT;

-- App sessions stay after their instance has closed.
CREATE TABLE app_sessions (
    workspace INTEGER NOT NULL,
    id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    opened INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX app_sessions_by_conversation ON app_sessions (workspace, conversation, opened);

-- The latest session data of each App session.
CREATE TABLE documents (
    workspace INTEGER NOT NULL,
    session TEXT NOT NULL,
    revision INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace, session)
) STRICT;

-- Descriptors that calls may be finished under; written once.
CREATE TABLE descriptors (
    digest TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- Refusals, counted per minute.
CREATE TABLE refusals (
    workspace INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    source TEXT NOT NULL,
    actor TEXT NOT NULL,
    code TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (workspace, minute, source, actor, code)
) STRICT, WITHOUT ROWID;

-- What a probe writes and removes to see whether there is room.
CREATE TABLE probe (
    id INTEGER PRIMARY KEY,
    pad BLOB NOT NULL
) STRICT;
