-- $1 id, $2 when it was delivered. Whichever attempt it was: what was delivered is delivered.
UPDATE webhook_deliveries
SET state = 'delivered', ended_at_ms = $2, last_status = $3, last_error = NULL, history = $4
WHERE id = $1
