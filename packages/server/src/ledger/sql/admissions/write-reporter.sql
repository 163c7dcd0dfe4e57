INSERT INTO ledger_reporters (run, holder, started_at_ms, reported_at_ms, has_ended) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (run) DO UPDATE SET reported_at_ms = excluded.reported_at_ms, has_ended = excluded.has_ended
