-- $1 now, $2 how many. The condition is there twice: the second time it is checked against the row as another node left it.
UPDATE ledger_events SET dispatched_at_ms = $1
WHERE id IN (SELECT id FROM ledger_events WHERE dispatched_at_ms IS NULL ORDER BY at_ms LIMIT $2)
  AND dispatched_at_ms IS NULL
RETURNING id, at_ms
