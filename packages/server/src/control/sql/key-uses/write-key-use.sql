-- The later hour stays. Keys that are not there, such as revoked ones, are passed over.
INSERT INTO key_uses (key_id, kind, hour)
SELECT id, kind, CAST($2 AS BIGINT) FROM entities WHERE kind = 'api-key' AND id = $1
ON CONFLICT (key_id) DO UPDATE SET hour = excluded.hour WHERE excluded.hour > key_uses.hour
