INSERT INTO keyed_acts (owner, request, at_ms) VALUES ($1, $2, $3)
ON CONFLICT (owner) DO NOTHING RETURNING owner
