-- SQLite only. Removes the holds of a JSON list.
DELETE FROM ledger_holds WHERE (account_id, sequence) IN (SELECT value->>0, value->>1 FROM json_each($1))
