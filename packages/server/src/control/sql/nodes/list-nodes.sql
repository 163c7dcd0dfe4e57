SELECT name, seen_at_ms, body FROM nodes ORDER BY name
