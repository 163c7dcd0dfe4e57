UPDATE head SET sequence = $1, hash = $2 WHERE id = 1
