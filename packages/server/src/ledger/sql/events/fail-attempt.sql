-- $1 id, $2 the number of the attempt, by which a late record of an earlier one is known, $3 what it is now.
UPDATE webhook_deliveries
SET state = $3, next_attempt_at_ms = $4, ended_at_ms = $5, last_status = $6, last_error = $7, history = $8
WHERE id = $1 AND attempts = $2 AND state = 'pending'
RETURNING id
