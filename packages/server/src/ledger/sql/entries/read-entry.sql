SELECT account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
FROM ledger_entries WHERE account_id = $1 AND sequence = $2
