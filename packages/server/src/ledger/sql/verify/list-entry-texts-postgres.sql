-- PostgreSQL only. As list-entries-between, in one string: a line for each entry, with the JSON of which its hash is.
-- Its own lists have spaces.
SELECT string_agg(entry, chr(10)) FROM (
  SELECT '[' || to_json(account_id) || ',' || sequence || ',' || to_json(kind) || ',' || amount || ',' || balance || ','
    || to_json(idempotency_key) || ',' || COALESCE(settles::text, 'null') || ',' || to_json(actor) || ',' || at_ms || ','
    || COALESCE(to_json(details)::text, 'null') || ',' || to_json(previous_hash) || ']' AS entry
  FROM ledger_entries
  WHERE (account_id, sequence) > ($1, $2) AND (account_id, sequence) <= ($3, $4) ORDER BY account_id, sequence LIMIT $5
) AS page
