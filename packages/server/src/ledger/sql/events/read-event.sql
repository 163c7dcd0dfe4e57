SELECT id, body FROM ledger_events WHERE id = $1
