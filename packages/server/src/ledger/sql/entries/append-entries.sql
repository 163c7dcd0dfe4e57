INSERT INTO ledger_entries (
  account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
) VALUES :rows[(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)]
