-- Everything that the control plane keeps is an entity: a kind, an id, and what it says as JSON. `revision` counts
-- its edits, `sequence` is the change that wrote it last, `parent` is what it belongs to (a tenant).
CREATE TABLE entities (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  parent TEXT,
  revision BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, id)
);

CREATE INDEX entities_by_parent ON entities (kind, parent, id);

-- The audit log, which is also the ordered stream of changes that nodes follow. Append only: each row carries the
-- hash of the one before it. `change_id` and `part` make a change that is sent twice count once.
CREATE TABLE audit (
  sequence BIGINT PRIMARY KEY,
  change_id TEXT NOT NULL,
  part BIGINT NOT NULL,
  at_ms BIGINT NOT NULL,
  actor TEXT NOT NULL,
  origin TEXT NOT NULL,
  action TEXT NOT NULL,
  kind TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  body_before TEXT,
  body_after TEXT,
  previous_hash TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (change_id, part)
);

CREATE INDEX audit_by_entity ON audit (kind, entity_id, sequence);

-- One row: the last change and its hash. Every change updates it first, so changes wait for each other and commit in
-- the order of their numbers.
CREATE TABLE head (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  sequence BIGINT NOT NULL,
  hash TEXT NOT NULL
);

INSERT INTO head VALUES (1, 0, '');
