-- $1 the webhook, $2 now, $3 since when they have waited, $4 why.
UPDATE webhook_deliveries SET state = 'failed', ended_at_ms = $2, last_error = $4
WHERE webhook = $1 AND state = 'pending' AND next_attempt_at_ms < $3
RETURNING id
