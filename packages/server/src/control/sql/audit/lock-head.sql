-- Locks the head: every other change waits until this transaction ends.
UPDATE head SET sequence = sequence WHERE id = 1 RETURNING sequence, hash
