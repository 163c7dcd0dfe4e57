-- The entity of a kind with the greatest id.
SELECT kind, id, parent, revision, sequence, body FROM entities WHERE kind = $1 ORDER BY id DESC LIMIT 1
