SELECT e.account_id, e.sequence, e.kind, e.amount, e.balance, e.idempotency_key, e.settles, e.actor, e.at_ms, e.details,
  e.previous_hash, a.meter, a.part, a.subject, a.starts_at_ms, a.ends_at_ms
FROM ledger_accounts a JOIN ledger_entries e ON e.account_id = a.id
WHERE a.subject = $8 AND e.at_ms >= $1 AND e.at_ms < $2 AND (e.at_ms, e.account_id, e.sequence) > ($1, $3, $4)
  AND (a.meter = $5 OR $5 IS NULL) AND (e.kind = $6 OR $6 IS NULL)
ORDER BY e.at_ms, e.account_id, e.sequence LIMIT $7
