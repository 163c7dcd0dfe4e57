-- By quarters of an hour, at which the days of all time zones begin. What settles a charge counts when that was made.
SELECT a.meter, a.part, COALESCE(c.at_ms, e.at_ms) / 900000 AS quarter, CAST(SUM(e.amount) AS BIGINT) AS amount
FROM ledger_accounts a JOIN ledger_entries e ON e.account_id = a.id
  LEFT JOIN ledger_entries c ON c.account_id = e.account_id AND c.sequence = e.settles
WHERE a.subject = $1 AND (a.meter = $2 OR $2 IS NULL) AND a.starts_at_ms < $4 AND a.ends_at_ms > $3
  AND COALESCE(c.at_ms, e.at_ms) >= $3 AND COALESCE(c.at_ms, e.at_ms) < $4
  AND (e.kind IN ('use', 'reserve', 'lease', 'commit', 'cancel', 'return') OR (e.kind = 'expire' AND e.amount > 0))
GROUP BY a.meter, a.part, COALESCE(c.at_ms, e.at_ms) / 900000
ORDER BY a.meter, a.part, COALESCE(c.at_ms, e.at_ms) / 900000
