-- A page of the audit log, the latest entry first. An empty string stands for any kind, entity, actor or action.
-- Bodies are read only where $9 is 'all': those of rule sets can be megabytes. `bytes` says how long they are.
SELECT sequence, change_id, part, at_ms, actor, origin, action, kind, entity_id, reason,
  CASE WHEN $9 = 'all' THEN body_before END AS body_before, CASE WHEN $9 = 'all' THEN body_after END AS body_after,
  previous_hash, hash, COALESCE(octet_length(body_before), 0) + COALESCE(octet_length(body_after), 0) AS bytes
FROM audit
WHERE sequence < $1 AND ($2 = '' OR kind = $2) AND ($3 = '' OR entity_id = $3) AND ($4 = '' OR actor = $4)
  AND ($6 = '' OR action = $6) AND at_ms >= $7 AND at_ms < $8
ORDER BY sequence DESC LIMIT $5
