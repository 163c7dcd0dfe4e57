-- Entries that settle a charge, with what they settle, in the periods that hold $3.
SELECT e.account_id, e.sequence, e.kind, e.amount, e.details, c.kind AS settled_kind, c.amount AS settled_amount,
  a.meter, a.part, a.starts_at_ms, a.ends_at_ms
FROM ledger_accounts a JOIN ledger_entries e ON e.account_id = a.id
  JOIN ledger_entries c ON c.account_id = e.account_id AND c.sequence = e.settles
WHERE (e.account_id, e.sequence) > ($1, $2) AND a.starts_at_ms <= $3 AND a.ends_at_ms > $3
  AND (a.meter = $4 OR $4 IS NULL) AND c.kind <> 'grant'
ORDER BY e.account_id, e.sequence LIMIT $5
