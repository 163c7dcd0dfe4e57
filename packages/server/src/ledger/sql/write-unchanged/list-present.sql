-- SQLite only. Entries of a JSON list of names that are there.
SELECT e.sequence FROM json_each($1) n
  JOIN ledger_entries e ON e.idempotency_key = n.value->>1 AND e.account_id = n.value->>0
