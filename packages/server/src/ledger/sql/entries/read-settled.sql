SELECT kind, amount, (
  SELECT COUNT(*) FROM ledger_entries e WHERE e.account_id = $1 AND e.idempotency_key = $3 AND e.sequence < $4
) AS expiries
FROM ledger_entries WHERE account_id = $1 AND sequence = $2
