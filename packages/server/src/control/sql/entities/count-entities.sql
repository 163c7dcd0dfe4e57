-- How many entities of a kind there are.
SELECT COUNT(*) AS count FROM entities WHERE kind = $1
