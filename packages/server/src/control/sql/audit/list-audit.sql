SELECT sequence, change_id, part, at_ms, actor, origin, action, kind, entity_id, reason, body_before, body_after,
  previous_hash, hash
FROM audit WHERE sequence > $1 ORDER BY sequence LIMIT $2
