INSERT INTO ledger_blocks (meter, subject, until_ms) VALUES ($1, $2, $3)
ON CONFLICT (meter, subject) DO UPDATE SET until_ms = excluded.until_ms
