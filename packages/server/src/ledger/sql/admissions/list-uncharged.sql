-- Who was admitted while the ledger did not answer, in the periods that hold $1, by which process: the largest first.
SELECT x.account_id, x.meter, x.part, x.subject, r.holder, CAST(SUM(x.units) AS BIGINT) AS units
FROM ledger_admissions x JOIN ledger_reporters r ON r.run = x.run
WHERE x.starts_at_ms <= $1 AND x.ends_at_ms > $1 AND (x.meter = $2 OR $2 IS NULL) AND x.source = 'uncharged'
GROUP BY x.account_id, x.meter, x.part, x.subject, r.holder HAVING SUM(x.units) > 0
ORDER BY units DESC, x.account_id LIMIT $3
