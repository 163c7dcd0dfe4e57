SELECT kind, id, parent, revision, sequence, body FROM entities
WHERE kind = $1 AND parent = $2 AND id > $3 ORDER BY id LIMIT $4
