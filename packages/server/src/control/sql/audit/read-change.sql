-- What became of a change, by the id that its sender gave it.
SELECT sequence, change_id, part, at_ms, actor, origin, action, kind, entity_id, reason, body_before, body_after,
  previous_hash, hash
FROM audit WHERE change_id = $1 ORDER BY part
