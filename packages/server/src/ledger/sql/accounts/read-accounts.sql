-- With the end of a block of its subject: 0 if there is none, -1 if it lasts until it is lifted.
SELECT a.id, a.meter, a.part, a.subject, a.starts_at_ms, a.ends_at_ms, a.quota, a.balance, a.state, a.sequence, a.hash,
  CASE WHEN b.meter IS NULL THEN 0 ELSE COALESCE(b.until_ms, -1) END AS blocked_until_ms
FROM ledger_accounts a LEFT JOIN ledger_blocks b ON b.meter = a.meter AND b.subject = a.subject
WHERE a.id IN (:rows[?]) ORDER BY a.id
