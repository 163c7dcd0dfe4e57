-- An event is handed to the webhooks that are configured when it is dispatched; null until then.
ALTER TABLE ledger_events ADD COLUMN dispatched_at_ms BIGINT;

CREATE INDEX ledger_events_to_dispatch ON ledger_events (at_ms) WHERE dispatched_at_ms IS NULL;

-- One event on its way to one webhook: `pending`, `delivered` or `failed`. `webhook` is its name in the configuration.
-- Taking a delivery counts an attempt and moves the next one beyond the time that sending may take, so a node that dies
-- in between delays it and never loses it; a late record of an earlier attempt is known by its number. `tries_from` is
-- the number of attempts before the first try or the operator's last retry. `history` is JSON: the latest attempts.
CREATE TABLE webhook_deliveries (
  id TEXT PRIMARY KEY,
  event_id TEXT NOT NULL REFERENCES ledger_events (id) ON DELETE CASCADE,
  webhook TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  tries_from BIGINT NOT NULL,
  next_attempt_at_ms BIGINT NOT NULL,
  ended_at_ms BIGINT,
  last_status BIGINT,
  last_error TEXT,
  history TEXT NOT NULL
);

CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (created_at_ms, id);
CREATE INDEX webhook_deliveries_by_event ON webhook_deliveries (event_id);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook, next_attempt_at_ms) WHERE state = 'pending';
