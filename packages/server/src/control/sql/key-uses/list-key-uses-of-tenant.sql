-- Of the keys of a tenant, from one id to another.
SELECT u.key_id, u.hour FROM entities e JOIN key_uses u ON u.key_id = e.id
WHERE e.kind = 'api-key' AND e.parent = $1 AND e.id >= $2 AND e.id <= $3
