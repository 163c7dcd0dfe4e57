-- $1 id, $2 now. Attempts go on counting, and the waits between them start from the shortest.
UPDATE webhook_deliveries
SET state = 'pending', tries_from = attempts, next_attempt_at_ms = $2, ended_at_ms = NULL
WHERE id = $1
RETURNING id
