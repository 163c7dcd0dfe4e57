INSERT INTO ledger_accounts (
  id, meter, part, subject, starts_at_ms, ends_at_ms, quota, balance, state, sequence, hash
) VALUES :rows[(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)] ON CONFLICT (id) DO UPDATE SET
  quota = excluded.quota, balance = excluded.balance, state = excluded.state, sequence = excluded.sequence,
  hash = excluded.hash
