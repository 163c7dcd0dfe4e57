-- PostgreSQL only. As write-unchanged.sql, with holds that are added and removed, and only if there is no entry with one of
-- the names of $10 and $11. These are looked for as of the start of the statement, which is enough: a later one changes
-- its account.
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
  SELECT (SELECT COUNT(*) FROM same) = (SELECT COUNT(*) FROM seen) AND NOT EXISTS (
    SELECT 1 FROM unnest((SELECT $10::text[]), $11::text[]) AS n (account_id, idempotency_key)
      JOIN ledger_entries e ON e.account_id = n.account_id AND e.idempotency_key = n.idempotency_key
  ) AS is_written
), entries AS (
  INSERT INTO ledger_entries (
    account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
  )
  SELECT * FROM unnest(
    (SELECT $12::text[]), $13::bigint[], $14::text[], $15::bigint[], $16::bigint[], $17::text[], $18::bigint[], $19::text[],
    $20::bigint[], $21::text[], $22::text[]
  ) WHERE (SELECT is_written FROM outcome)
), accounts AS (
  UPDATE ledger_accounts a
  SET quota = s.quota, balance = s.balance, state = s.state, sequence = s.sequence, hash = s.hash
  FROM seen s WHERE a.id = s.id AND s.sequence > s.stored_sequence AND (SELECT is_written FROM outcome)
), held AS (
  INSERT INTO ledger_holds (account_id, sequence, kind, amount, holder, expires_at_ms)
  SELECT * FROM unnest((SELECT $23::text[]), $24::bigint[], $25::text[], $26::bigint[], $27::text[], $28::bigint[])
  WHERE (SELECT is_written FROM outcome)
), unheld AS (
  DELETE FROM ledger_holds h USING unnest((SELECT $29::text[]), $30::bigint[]) AS u (account_id, sequence)
  WHERE h.account_id = u.account_id AND h.sequence = u.sequence AND (SELECT is_written FROM outcome)
)
SELECT is_written::int AS is_written, CASE WHEN NOT is_written THEN (
  SELECT string_agg(s.id, ' ') FROM seen s WHERE NOT EXISTS (SELECT 1 FROM same m WHERE m.id = s.id)
) END AS changed
FROM outcome
