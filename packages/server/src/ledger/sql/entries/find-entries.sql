WITH wanted (account_id, idempotency_key) AS (VALUES :rows[(?, ?)])
SELECT e.account_id, e.sequence, e.kind, e.amount, e.balance, e.idempotency_key, e.settles, e.actor, e.at_ms, e.details,
  e.previous_hash
FROM wanted w JOIN ledger_entries e ON e.account_id = w.account_id AND e.idempotency_key = w.idempotency_key
