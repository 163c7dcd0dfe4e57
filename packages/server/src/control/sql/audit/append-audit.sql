INSERT INTO audit (
  sequence, change_id, part, at_ms, actor, origin, action, kind, entity_id, reason, body_before, body_after,
  previous_hash, hash
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
