-- Accounts of tenants in the periods that hold $1, those with the smallest share left first. $2 is what their subject
-- begins with.
SELECT id, meter, part, subject, starts_at_ms, ends_at_ms, quota, balance, state, sequence, hash FROM ledger_accounts
WHERE starts_at_ms <= $1 AND ends_at_ms > $1 AND sequence > 0 AND (meter = $3 OR $3 IS NULL)
  AND SUBSTR(subject, 1, LENGTH(CAST($2 AS TEXT))) = $2 AND subject NOT LIKE '%|%'
ORDER BY CASE WHEN quota > 0 THEN balance * 1.0 / quota ELSE -1 END, id
LIMIT $4 OFFSET $5
