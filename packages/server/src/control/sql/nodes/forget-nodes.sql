-- Nodes that have not been heard of since a time.
DELETE FROM nodes WHERE seen_at_ms < $1
