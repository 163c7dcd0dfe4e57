SELECT kind, amount FROM ledger_entries WHERE account_id = $1 AND sequence = $2
