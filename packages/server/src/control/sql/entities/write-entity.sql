INSERT INTO entities (kind, id, parent, revision, sequence, body) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (kind, id) DO UPDATE SET
  parent = excluded.parent, revision = excluded.revision, sequence = excluded.sequence, body = excluded.body
