SELECT webhook, COUNT(*) AS pending, MIN(created_at_ms) AS oldest_at_ms
FROM webhook_deliveries WHERE state = 'pending' GROUP BY webhook
