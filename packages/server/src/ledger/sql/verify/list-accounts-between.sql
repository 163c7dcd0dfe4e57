SELECT id, meter, part, subject, starts_at_ms, ends_at_ms, quota, balance, state, sequence, hash FROM ledger_accounts
WHERE id > $1 AND (id <= $2 OR $2 IS NULL) ORDER BY id LIMIT $3
