-- SQLite only. The accounts of a JSON list that are as they were last seen, and whose subjects are not blocked after $2.
SELECT a.id FROM json_each($1) s JOIN ledger_accounts a ON a.id = s.value->>0
WHERE a.sequence = s.value->>1 AND a.hash = s.value->>2 AND NOT EXISTS (
  SELECT 1 FROM ledger_blocks b
  WHERE b.meter = a.meter AND b.subject = a.subject AND (b.until_ms IS NULL OR b.until_ms > $2)
)
