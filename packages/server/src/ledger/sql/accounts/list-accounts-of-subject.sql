SELECT id, meter, part, subject, starts_at_ms, ends_at_ms, quota, balance, state, sequence, hash FROM ledger_accounts
WHERE subject = $1 AND (meter = $2 OR $2 IS NULL) AND starts_at_ms <= $3 AND ends_at_ms > $3 AND sequence > 0
ORDER BY meter, part, starts_at_ms
