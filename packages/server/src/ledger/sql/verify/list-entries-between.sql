-- In the order in which entries are hashed.
SELECT account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
FROM ledger_entries
WHERE (account_id, sequence) > ($1, $2) AND (account_id, sequence) <= ($3, $4) ORDER BY account_id, sequence LIMIT $5
