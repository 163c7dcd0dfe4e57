INSERT INTO webhook_deliveries (
  id, event_id, webhook, state, created_at_ms, attempts, tries_from, next_attempt_at_ms, history
) VALUES ($1, $2, $3, 'pending', $4, 0, 0, $4, '[]')
ON CONFLICT (id) DO NOTHING
