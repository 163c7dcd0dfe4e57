-- An account, if it is as it was last seen, and its subject is not blocked after $4.
SELECT id FROM ledger_accounts
WHERE id = $1 AND sequence = $2 AND hash = $3 AND NOT EXISTS (
  SELECT 1 FROM ledger_blocks b
  WHERE b.meter = ledger_accounts.meter AND b.subject = ledger_accounts.subject
    AND (b.until_ms IS NULL OR b.until_ms > $4)
)
