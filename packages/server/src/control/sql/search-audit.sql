-- A page of the audit log, the latest entry first. An empty string stands for any kind, entity, actor or action.
SELECT sequence, change_id, part, at_ms, actor, origin, action, kind, entity_id, reason, body_before, body_after,
  previous_hash, hash
FROM audit
WHERE sequence < $1 AND ($2 = '' OR kind = $2) AND ($3 = '' OR entity_id = $3) AND ($4 = '' OR actor = $4)
  AND ($6 = '' OR action = $6) AND at_ms >= $7 AND at_ms < $8
ORDER BY sequence DESC LIMIT $5
