-- One statement, so that both are of the same moment.
SELECT a.id, a.meter, a.part, a.subject, a.starts_at_ms, a.ends_at_ms, a.quota, a.balance, a.state, a.sequence, a.hash,
  h.sequence AS hold_sequence, h.kind AS hold_kind, h.amount AS hold_amount
FROM ledger_accounts a LEFT JOIN ledger_holds h ON h.account_id = a.id WHERE a.id = $1
