-- SQLite only. Appends entries of the actor $1 at the time $2 that settle nothing and have no details.
INSERT INTO ledger_entries (
  account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
)
SELECT s.column1, s.column2, s.column3, s.column4, s.column5, s.column6, NULL, w.actor, w.at_ms, NULL, s.column7
FROM (SELECT $1 AS actor, $2 AS at_ms) w, (VALUES :rows[(?, ?, ?, ?, ?, ?, ?)]) s
