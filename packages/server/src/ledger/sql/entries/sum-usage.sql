-- The usage of a range of one account's entries, by quarters of an hour, at which the days of all time zones begin. What
-- settles a charge counts when that was made; it is looked up entry by entry, since a join may read the whole account.
SELECT u.at_ms / 900000 AS quarter, CAST(SUM(u.amount) AS BIGINT) AS amount
FROM (
  SELECT e.amount, CASE WHEN e.settles IS NULL THEN e.at_ms ELSE COALESCE((
    SELECT c.at_ms FROM ledger_entries c WHERE c.account_id = $1 AND c.sequence = e.settles
  ), e.at_ms) END AS at_ms
  FROM ledger_entries e
  WHERE e.account_id = $1 AND e.sequence > $2 AND e.sequence <= $3
    AND (e.kind IN ('use', 'reserve', 'lease', 'commit', 'cancel', 'return') OR (e.kind = 'expire' AND e.amount > 0))
) u
WHERE u.at_ms >= $4 AND u.at_ms < $5 GROUP BY u.at_ms / 900000
