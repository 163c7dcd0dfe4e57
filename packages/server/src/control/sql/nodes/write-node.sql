-- What a control node knows, in place of what it knew before.
INSERT INTO nodes (name, seen_at_ms, body) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET seen_at_ms = excluded.seen_at_ms, body = excluded.body
