DELETE FROM ledger_holds WHERE (account_id, sequence) IN (VALUES :rows[(?, CAST(? AS BIGINT))])
