INSERT INTO keyed_acts (owner, request, at_ms, claimed_by) VALUES ($1, $2, $3, $4)
ON CONFLICT (owner) DO NOTHING RETURNING owner
