SELECT kind, id, parent, revision, sequence, body FROM entities
WHERE kind = $1 AND parent = $2 AND id > $3 AND ($5 = '' OR substr(id, 1, length($5)) = $5)
ORDER BY id LIMIT $4
