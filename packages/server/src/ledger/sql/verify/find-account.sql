SELECT id FROM ledger_accounts WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2
