DELETE FROM ledger_blocks WHERE meter = $1 AND subject = $2
