-- The account of a subject and meter, in whatever period, that has an entry under an operator's key.
SELECT a.id FROM ledger_accounts a JOIN ledger_entries e ON e.account_id = a.id AND e.idempotency_key = $4
WHERE a.subject = $1 AND a.meter = $2 AND a.part = $3 ORDER BY a.starts_at_ms DESC LIMIT 1
