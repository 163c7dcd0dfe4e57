-- The hour in which an API key was last used: hours since 1970. It is not part of the state and not audited, and goes
-- with its key: `kind` is always 'api-key'.
CREATE TABLE key_uses (
  key_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind = 'api-key'),
  hour BIGINT NOT NULL,
  FOREIGN KEY (kind, key_id) REFERENCES entities (kind, id) ON DELETE CASCADE
);
