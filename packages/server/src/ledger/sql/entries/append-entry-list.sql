-- SQLite only. Appends the entries of a JSON list.
INSERT INTO ledger_entries (
  account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
  value->>10
FROM json_each($1)
