-- PostgreSQL only. Writes what was decided on accounts as a process last saw them, all of it or nothing: nothing if one
-- of them has changed since, or if its subject is blocked after $9. Rows are locked in the order of their ids, as
-- everywhere; one that is changed meanwhile is compared as it is then. The first array of each list is in a SELECT so
-- that its length is not known when the statement is planned: one plan is then as good as another, and is kept.
WITH seen AS MATERIALIZED (
  SELECT * FROM unnest(
    (SELECT $1::text[]), $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::text[]
  ) AS s (id, stored_sequence, stored_hash, quota, balance, state, sequence, hash)
), same AS MATERIALIZED (
  SELECT a.id FROM seen s JOIN ledger_accounts a ON a.id = s.id
  WHERE a.sequence = s.stored_sequence AND a.hash = s.stored_hash AND NOT EXISTS (
    SELECT 1 FROM ledger_blocks b
    WHERE b.meter = a.meter AND b.subject = a.subject AND (b.until_ms IS NULL OR b.until_ms > $9)
  )
  ORDER BY a.id FOR UPDATE OF a
), outcome AS MATERIALIZED (
  SELECT (SELECT COUNT(*) FROM same) = (SELECT COUNT(*) FROM seen) AS is_written
), entries AS (
  INSERT INTO ledger_entries (
    account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
  )
  SELECT * FROM unnest(
    (SELECT $10::text[]), $11::bigint[], $12::text[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[], $17::text[],
    $18::bigint[], $19::text[], $20::text[]
  ) WHERE (SELECT is_written FROM outcome)
), accounts AS (
  UPDATE ledger_accounts a
  SET quota = s.quota, balance = s.balance, state = s.state, sequence = s.sequence, hash = s.hash
  FROM seen s WHERE a.id = s.id AND s.sequence > s.stored_sequence AND (SELECT is_written FROM outcome)
)
SELECT is_written::int AS is_written, CASE WHEN NOT is_written THEN (
  SELECT string_agg(s.id, ' ') FROM seen s WHERE NOT EXISTS (SELECT 1 FROM same m WHERE m.id = s.id)
) END AS changed
FROM outcome
