INSERT INTO ledger_holds (account_id, sequence, kind, amount, holder, expires_at_ms) VALUES :rows[(?, ?, ?, ?, ?, ?)]
