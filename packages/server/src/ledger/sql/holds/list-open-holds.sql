SELECT h.account_id, h.sequence, h.kind, h.amount, h.holder, h.expires_at_ms,
  a.meter, a.part, a.subject, a.starts_at_ms, a.ends_at_ms
FROM ledger_holds h JOIN ledger_accounts a ON a.id = h.account_id
WHERE (h.account_id, h.sequence) > ($1, $2) AND a.starts_at_ms <= $3 AND a.ends_at_ms > $3
  AND (a.meter = $4 OR $4 IS NULL)
ORDER BY h.account_id, h.sequence LIMIT $5
