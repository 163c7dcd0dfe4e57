-- Acts on counters that came with an Idempotency-Key. Each is claimed before it is done, so that it is done once,
-- whichever control node it is sent to again; `answer` is null until then. Rows are deleted after a day.
CREATE TABLE keyed_acts (
  owner TEXT PRIMARY KEY,
  request TEXT NOT NULL,
  at_ms BIGINT NOT NULL,
  answer TEXT
);

CREATE INDEX keyed_acts_by_time ON keyed_acts (at_ms);
