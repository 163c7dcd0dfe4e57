-- What the entries of the periods that hold $1 charge, by meter and period. `unreported`: what its process may not have
-- reported, because it is no older than $3 milliseconds before the last report, or close to the edge of the period.
SELECT a.meter, a.part, a.starts_at_ms, a.ends_at_ms,
  CAST(SUM(CASE WHEN e.kind IN ('use', 'reserve', 'lease', 'commit', 'cancel', 'return')
    OR (e.kind = 'expire' AND e.amount > 0) THEN -e.amount ELSE 0 END) AS BIGINT) AS charged,
  CAST(SUM(CASE WHEN e.kind = 'use' THEN -e.amount ELSE 0 END) AS BIGINT) AS used,
  CAST(SUM(CASE WHEN e.kind IN ('use', 'reserve') AND NOT (
    e.at_ms >= a.starts_at_ms + $3 AND e.at_ms < a.ends_at_ms - $3 AND EXISTS (
      SELECT 1 FROM ledger_reporters r WHERE r.holder = e.actor AND r.started_at_ms <= e.at_ms
        AND (e.at_ms < r.reported_at_ms - $3 OR (r.has_ended = 1 AND e.at_ms <= r.reported_at_ms))
    )) THEN -e.amount ELSE 0 END) AS BIGINT) AS unreported
FROM ledger_accounts a JOIN ledger_entries e ON e.account_id = a.id
WHERE a.starts_at_ms <= $1 AND a.ends_at_ms > $1 AND (a.meter = $2 OR $2 IS NULL)
GROUP BY a.meter, a.part, a.starts_at_ms, a.ends_at_ms ORDER BY a.meter, a.part, a.starts_at_ms
