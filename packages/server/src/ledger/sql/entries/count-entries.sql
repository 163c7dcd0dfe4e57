SELECT COUNT(*) AS entries FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.account_id
WHERE e.at_ms >= $1 AND e.at_ms < $2
  AND (a.subject = $3 OR $3 IS NULL) AND (a.meter = $4 OR $4 IS NULL) AND (e.kind = $5 OR $5 IS NULL)
