-- What was admitted in the periods that hold $1, by meter, period and source.
SELECT meter, part, starts_at_ms, ends_at_ms, source, CAST(SUM(units) AS BIGINT) AS units
FROM ledger_admissions
WHERE starts_at_ms <= $1 AND ends_at_ms > $1 AND (meter = $2 OR $2 IS NULL)
GROUP BY meter, part, starts_at_ms, ends_at_ms, source ORDER BY meter, part, starts_at_ms
