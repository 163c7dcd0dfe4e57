-- $1 the webhook, $2 now, $3 when the claim ends, $4 how many. The condition is there twice: the second time it is checked
-- against the row as another node left it.
UPDATE webhook_deliveries SET attempts = attempts + 1, next_attempt_at_ms = $3
WHERE id IN (
    SELECT id FROM webhook_deliveries
    WHERE state = 'pending' AND webhook = $1 AND next_attempt_at_ms <= $2
    ORDER BY next_attempt_at_ms, id LIMIT $4
  )
  AND state = 'pending' AND next_attempt_at_ms <= $2
RETURNING id, event_id, attempts, tries_from, history
