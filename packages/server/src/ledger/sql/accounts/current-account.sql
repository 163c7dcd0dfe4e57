SELECT id FROM ledger_accounts
WHERE subject = $1 AND meter = $2 AND part = $3 AND starts_at_ms <= $4 AND ends_at_ms > $4 AND sequence > 0
ORDER BY starts_at_ms DESC LIMIT 1
