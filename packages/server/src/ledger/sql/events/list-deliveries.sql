-- The latest first. $1 and $2 are the last delivery of the page before; '' means any.
SELECT d.id, d.event_id, d.webhook, d.state, d.created_at_ms, d.attempts, d.next_attempt_at_ms, d.ended_at_ms,
  d.last_status, d.last_error, d.history, a.meter, e.share_percent, e.at_ms
FROM webhook_deliveries d JOIN ledger_events e ON e.id = d.event_id JOIN ledger_accounts a ON a.id = e.account_id
WHERE (d.created_at_ms < $1 OR (d.created_at_ms = $1 AND d.id < $2))
  AND ($3 = '' OR d.state = $3) AND ($4 = '' OR d.webhook = $4) AND ($5 = '' OR d.event_id = $5)
ORDER BY d.created_at_ms DESC, d.id DESC LIMIT $6
