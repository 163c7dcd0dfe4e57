-- Entries are unique by key and account, in this order: keys that a process makes follow each other, so those of one
-- transaction are written to the same few pages of the index, where they went to one page for each account before.
CREATE TABLE ledger_entries_by_key (
  account_id TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  kind TEXT NOT NULL,
  amount BIGINT NOT NULL,
  balance BIGINT NOT NULL,
  idempotency_key TEXT NOT NULL,
  settles BIGINT,
  actor TEXT NOT NULL,
  at_ms BIGINT NOT NULL,
  details TEXT,
  previous_hash TEXT NOT NULL,
  PRIMARY KEY (account_id, sequence),
  UNIQUE (idempotency_key, account_id)
);

INSERT INTO ledger_entries_by_key (
  account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
)
SELECT account_id, sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash
FROM ledger_entries ORDER BY account_id, sequence;

DROP TABLE ledger_entries;

ALTER TABLE ledger_entries_by_key RENAME TO ledger_entries;

CREATE INDEX ledger_entries_by_time ON ledger_entries (at_ms);
