SELECT MAX(account_id) AS id FROM ledger_entries WHERE account_id > $1
