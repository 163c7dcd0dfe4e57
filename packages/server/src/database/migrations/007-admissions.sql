-- What processes say they admitted of durable quotas, beside what was charged. A report adds to the units of an account
-- once: `report` is the number of the last one, so that one whose answer was lost can be sent again. `subject` is '' for
-- accounts that a process did not keep apart while it could not report.
CREATE TABLE ledger_admissions (
  account_id TEXT NOT NULL,
  run TEXT NOT NULL,
  source TEXT NOT NULL,
  meter TEXT NOT NULL,
  part BIGINT NOT NULL,
  subject TEXT NOT NULL,
  starts_at_ms BIGINT NOT NULL,
  ends_at_ms BIGINT NOT NULL,
  units BIGINT NOT NULL,
  report BIGINT NOT NULL,
  PRIMARY KEY (account_id, run, source)
);

CREATE INDEX ledger_admissions_by_end ON ledger_admissions (ends_at_ms);

-- A run of a process that reports: what it admitted from its start to its last report is known. `has_ended` is 1 if it
-- ended by itself, with a last report.
CREATE TABLE ledger_reporters (
  run TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  started_at_ms BIGINT NOT NULL,
  reported_at_ms BIGINT NOT NULL,
  has_ended BIGINT NOT NULL
);

CREATE INDEX ledger_reporters_by_holder ON ledger_reporters (holder, started_at_ms);
