-- SQLite only. Writes the accounts of a list that are as they were last seen, and whose subjects are not blocked after $1.
-- A row: id, the sequence number and hash that were seen, then quota, balance, state, sequence number and hash.
UPDATE ledger_accounts
SET quota = s.column4, balance = s.column5, state = s.column6, sequence = s.column7, hash = s.column8
FROM (VALUES :rows[(?, ?, ?, ?, ?, ?, ?, ?)]) s
WHERE ledger_accounts.id = s.column1 AND ledger_accounts.sequence = s.column2 AND ledger_accounts.hash = s.column3
  AND NOT EXISTS (
    SELECT 1 FROM ledger_blocks b
    WHERE b.meter = ledger_accounts.meter AND b.subject = ledger_accounts.subject
      AND (b.until_ms IS NULL OR b.until_ms > $1)
  )
