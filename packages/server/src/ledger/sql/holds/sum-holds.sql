SELECT kind, CAST(SUM(amount) AS BIGINT) AS units FROM ledger_holds WHERE account_id = $1 GROUP BY kind
