-- Of the keys from one id to another.
SELECT key_id, hour FROM key_uses WHERE key_id >= $1 AND key_id <= $2
