-- A page of a kind, after an id.
SELECT kind, id, parent, revision, sequence, body FROM entities
WHERE kind = $1 AND id > $2 ORDER BY id LIMIT $3
