-- What the entries of the periods that hold $1 charge, by meter and period.
SELECT a.meter, a.part, a.starts_at_ms, a.ends_at_ms,
  CAST(SUM(CASE WHEN e.kind IN ('use', 'reserve', 'lease', 'commit', 'cancel', 'return')
    OR (e.kind = 'expire' AND e.amount > 0) THEN -e.amount ELSE 0 END) AS BIGINT) AS charged,
  CAST(SUM(CASE WHEN e.kind = 'use' THEN -e.amount ELSE 0 END) AS BIGINT) AS used
FROM ledger_accounts a JOIN ledger_entries e ON e.account_id = a.id
WHERE a.starts_at_ms <= $1 AND a.ends_at_ms > $1 AND (a.meter = $2 OR $2 IS NULL)
GROUP BY a.meter, a.part, a.starts_at_ms, a.ends_at_ms ORDER BY a.meter, a.part, a.starts_at_ms
