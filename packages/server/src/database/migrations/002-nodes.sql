-- What control nodes know of themselves and of their followers, for each other: one row a control node, which only it
-- writes, every few seconds. It is not part of the state and not audited.
CREATE TABLE nodes (
  name TEXT PRIMARY KEY,
  seen_at_ms BIGINT NOT NULL,
  body TEXT NOT NULL
);
