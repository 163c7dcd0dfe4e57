INSERT INTO ledger_events (id, account_id, share_percent, at_ms, body) VALUES :rows[(?, ?, ?, ?, ?)]
ON CONFLICT (id) DO NOTHING
