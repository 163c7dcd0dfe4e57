DELETE FROM entities WHERE kind = $1 AND id = $2
