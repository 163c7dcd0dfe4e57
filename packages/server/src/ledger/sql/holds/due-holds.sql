SELECT account_id, sequence FROM ledger_holds WHERE kind = 'reserve' AND expires_at_ms <= $1
ORDER BY expires_at_ms LIMIT $2
