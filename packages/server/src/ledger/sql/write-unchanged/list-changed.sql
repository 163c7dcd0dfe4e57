-- SQLite only. The ids of a JSON list whose accounts are not as they were last seen, or are blocked after $2.
SELECT s.value->>0 AS id FROM json_each($1) s WHERE NOT EXISTS (
  SELECT 1 FROM ledger_accounts a
  WHERE a.id = s.value->>0 AND a.sequence = s.value->>1 AND a.hash = s.value->>2 AND NOT EXISTS (
    SELECT 1 FROM ledger_blocks b
    WHERE b.meter = a.meter AND b.subject = a.subject AND (b.until_ms IS NULL OR b.until_ms > $2)
  )
)
