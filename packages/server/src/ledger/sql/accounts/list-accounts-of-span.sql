-- The accounts of a subject whose periods have a part in [$3, $4).
SELECT id, meter, part, sequence FROM ledger_accounts
WHERE subject = $1 AND (meter = $2 OR $2 IS NULL) AND starts_at_ms < $4 AND ends_at_ms > $3
ORDER BY meter, part, starts_at_ms
