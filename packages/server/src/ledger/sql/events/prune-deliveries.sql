-- Deliveries that ended before $1; none ended before it was made, so that the index by time finds them.
DELETE FROM webhook_deliveries WHERE id IN (
  SELECT id FROM webhook_deliveries WHERE created_at_ms < $1 AND state <> 'pending' AND ended_at_ms < $1
  ORDER BY created_at_ms, id LIMIT $2
)
