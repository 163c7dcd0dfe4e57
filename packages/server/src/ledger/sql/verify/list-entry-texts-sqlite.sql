-- SQLite only. As list-entries-between, in one string: a line for each entry, with the JSON of which its hash is.
SELECT group_concat(entry, char(10)) FROM (
  SELECT json_array(
    account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
  ) AS entry
  FROM ledger_entries
  WHERE (account_id, sequence) > ($1, $2) AND (account_id, sequence) <= ($3, $4) ORDER BY account_id, sequence LIMIT $5
)
