-- Writes an account if it is as it was last seen, and its subject is not blocked after $9.
UPDATE ledger_accounts SET quota = $4, balance = $5, state = $6, sequence = $7, hash = $8
WHERE id = $1 AND sequence = $2 AND hash = $3 AND NOT EXISTS (
  SELECT 1 FROM ledger_blocks b
  WHERE b.meter = ledger_accounts.meter AND b.subject = ledger_accounts.subject
    AND (b.until_ms IS NULL OR b.until_ms > $9)
)
RETURNING id
