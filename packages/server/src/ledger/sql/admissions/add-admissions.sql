-- A report that was taken before changes nothing.
INSERT INTO ledger_admissions (
  account_id, run, source, meter, part, subject, starts_at_ms, ends_at_ms, units, report
) VALUES :rows[(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)] ON CONFLICT (account_id, run, source) DO UPDATE SET
  units = ledger_admissions.units + excluded.units, report = excluded.report
WHERE ledger_admissions.report < excluded.report
