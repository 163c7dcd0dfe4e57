-- The ledger of durable quotas. An account is what one subject may use of one meter in one period: `meter` is the id of
-- a rule, `part` which of its limits, `subject` the key as it is counted (`tenant:acme`). Its id is a hash of those and
-- of the start of the period, so that a writer knows it without asking. `balance` is the sum of the amounts of its
-- entries; `sequence` and `hash` are those of its last entry. `state` is JSON: what is left of each grant, and debt.
CREATE TABLE ledger_accounts (
  id TEXT PRIMARY KEY,
  meter TEXT NOT NULL,
  part BIGINT NOT NULL,
  subject TEXT NOT NULL,
  starts_at_ms BIGINT NOT NULL,
  ends_at_ms BIGINT NOT NULL,
  quota BIGINT NOT NULL,
  balance BIGINT NOT NULL,
  state TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  hash TEXT NOT NULL
);

CREATE INDEX ledger_accounts_by_subject ON ledger_accounts (subject, meter, part, starts_at_ms);

-- Append only. `amount` is what an entry adds to the balance: a use is negative. `balance` is the one after it.
-- `settles` is the entry that a commit, cancel, expire or return is about. `details` is JSON. `previous_hash` is the
-- hash of the entry before it in its account, '' for the first. Accounts are never deleted, and a foreign key would be
-- looked up for every entry: verification finds entries without an account instead.
CREATE TABLE ledger_entries (
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
  UNIQUE (account_id, idempotency_key)
);

CREATE INDEX ledger_entries_by_time ON ledger_entries (at_ms);

-- Reservations and leases that are not settled yet. A reservation is returned when it has expired; a lease is not.
CREATE TABLE ledger_holds (
  account_id TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  kind TEXT NOT NULL,
  amount BIGINT NOT NULL,
  holder TEXT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  PRIMARY KEY (account_id, sequence)
);

CREATE INDEX ledger_holds_by_expiry ON ledger_holds (kind, expires_at_ms);

-- Subjects that an operator blocked under a meter; `until_ms` is null if until they are unblocked.
CREATE TABLE ledger_blocks (
  meter TEXT NOT NULL,
  subject TEXT NOT NULL,
  until_ms BIGINT,
  PRIMARY KEY (meter, subject)
);

-- A quota that was used up to a set share, once for each account and share, written together with the entry that
-- reached it.
CREATE TABLE ledger_events (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  share_percent BIGINT NOT NULL,
  at_ms BIGINT NOT NULL,
  body TEXT NOT NULL
);

CREATE INDEX ledger_events_by_time ON ledger_events (at_ms);
