SELECT account_id, sequence, kind, amount FROM ledger_holds
WHERE account_id > $1 AND account_id <= $2 ORDER BY account_id, sequence
