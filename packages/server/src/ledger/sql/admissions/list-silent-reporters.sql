-- Runs of processes that did not end by themselves and have not reported since $1, that may have admitted in the period
-- from $2 to now.
SELECT run, holder, started_at_ms, reported_at_ms FROM ledger_reporters
WHERE has_ended = 0 AND reported_at_ms < $1 AND reported_at_ms >= $2 ORDER BY reported_at_ms DESC LIMIT $3
