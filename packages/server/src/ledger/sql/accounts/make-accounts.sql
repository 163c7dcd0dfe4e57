-- Without entries yet: the first writer that has it locked opens it.
INSERT INTO ledger_accounts (
  id, meter, part, subject, starts_at_ms, ends_at_ms, quota, balance, state, sequence, hash
) VALUES :rows[(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)] ON CONFLICT (id) DO NOTHING
