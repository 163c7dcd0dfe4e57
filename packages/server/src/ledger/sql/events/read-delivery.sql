SELECT d.id, d.event_id, d.webhook, d.state, d.created_at_ms, d.attempts, d.next_attempt_at_ms, d.ended_at_ms,
  d.last_status, d.last_error, d.history, a.meter, e.share_percent, e.at_ms
FROM webhook_deliveries d JOIN ledger_events e ON e.id = d.event_id JOIN ledger_accounts a ON a.id = e.account_id
WHERE d.id = $1
