SELECT id FROM ledger_events WHERE dispatched_at_ms IS NULL ORDER BY at_ms LIMIT 1
