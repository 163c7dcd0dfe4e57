-- How long entries are: bodies of rule sets can be megabytes, and many of them are not to be read together.
SELECT sequence, COALESCE(octet_length(body_before), 0) + COALESCE(octet_length(body_after), 0) AS bytes
FROM audit WHERE sequence > $1 ORDER BY sequence LIMIT $2
