SELECT account_id, idempotency_key, MAX(sequence) AS sequence, COUNT(*) AS entries FROM ledger_entries
WHERE account_id > $1 AND account_id <= $2 GROUP BY account_id, idempotency_key HAVING COUNT(*) > 1 LIMIT 100
