-- Entries that settle a charge, with what they settle, in the periods that hold $3. `is_late` is 1 if the charge had expired
-- before; `is_reported` as in sum-charges.sql, with $6 milliseconds.
SELECT e.account_id, e.sequence, e.kind, e.amount, e.details, c.kind AS settled_kind, c.amount AS settled_amount,
  a.meter, a.part, a.starts_at_ms, a.ends_at_ms,
  CASE WHEN e.kind <> 'expire' AND EXISTS (
    SELECT 1 FROM ledger_entries x WHERE x.account_id = e.account_id AND x.settles = e.settles AND x.kind = 'expire'
      AND x.idempotency_key = 'expire:' || e.settles
  ) THEN 1 ELSE 0 END AS is_late,
  CASE WHEN e.at_ms >= a.starts_at_ms + $6 AND e.at_ms < a.ends_at_ms - $6 AND EXISTS (
    SELECT 1 FROM ledger_reporters r WHERE r.holder = e.actor AND r.started_at_ms <= e.at_ms
      AND (e.at_ms < r.reported_at_ms - $6 OR (r.has_ended = 1 AND e.at_ms <= r.reported_at_ms))
  ) THEN 1 ELSE 0 END AS is_reported
FROM ledger_accounts a JOIN ledger_entries e ON e.account_id = a.id
  JOIN ledger_entries c ON c.account_id = e.account_id AND c.sequence = e.settles
WHERE (e.account_id, e.sequence) > ($1, $2) AND a.starts_at_ms <= $3 AND a.ends_at_ms > $3
  AND (a.meter = $4 OR $4 IS NULL) AND c.kind <> 'grant'
ORDER BY e.account_id, e.sequence LIMIT $5
