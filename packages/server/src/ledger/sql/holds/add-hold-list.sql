-- SQLite only. Adds the holds of a JSON list.
INSERT INTO ledger_holds (account_id, sequence, kind, amount, holder, expires_at_ms)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each($1)
