-- A page of a kind, after an id; only ids that begin with $4, which may be empty.
SELECT kind, id, parent, revision, sequence, body FROM entities
WHERE kind = $1 AND id > $2 AND ($4 = '' OR substr(id, 1, length($4)) = $4) ORDER BY id LIMIT $3
