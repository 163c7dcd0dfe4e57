-- SQLite only. Writes the accounts of a JSON list that are as they were last seen, and whose subjects are not blocked
-- after $2.
UPDATE ledger_accounts
SET quota = s.quota, balance = s.balance, state = s.state, sequence = s.sequence, hash = s.hash
FROM (
  SELECT value->>0 AS id, value->>1 AS stored_sequence, value->>2 AS stored_hash, value->>3 AS quota, value->>4 AS balance,
    value->>5 AS state, value->>6 AS sequence, value->>7 AS hash
  FROM json_each($1)
) s
WHERE ledger_accounts.id = s.id AND ledger_accounts.sequence = s.stored_sequence AND ledger_accounts.hash = s.stored_hash
  AND NOT EXISTS (
    SELECT 1 FROM ledger_blocks b
    WHERE b.meter = ledger_accounts.meter AND b.subject = ledger_accounts.subject
      AND (b.until_ms IS NULL OR b.until_ms > $2)
  )
