// The shapes of what is answered about the ledger.

import {
  anyName,
  anything,
  choice,
  finiteNumber,
  flag,
  orNull,
  recordOf,
  required,
} from "sluice/shapes";
import { ENTRY_KINDS } from "../../ledger/accounts/entry.js";
import { CHECK_NAMES } from "../../ledger/verify/report.js";
import { ANY_COUNT, many, open, pageOf, text } from "./reply-shapes.js";

const period = open({
  startMs: required(finiteNumber, "In Unix milliseconds."),
  endMs: required(finiteNumber, "In Unix milliseconds."),
});

const forecast = open({
  unitsPerDay: required(finiteNumber, "Units that are expected to be used in 24 hours."),
  day: required(
    orNull(text),
    "The day on which the quota runs out, in the tenant's time zone; null if it lasts.",
  ),
  atMs: required(orNull(finiteNumber)),
  earliestDay: required(orNull(text), "In nine cases of ten it is not earlier."),
  latestDay: required(orNull(text), "In nine cases of ten it is not later."),
});

/** How one quota stands. */
export const quotaShape = open({
  accountId: required(text),
  meter: required(text, "The id of the rule."),
  part: required(finiteNumber, "Which of the limits of the rule, from 0."),
  subject: required(text, "The key as the rule counts it."),
  period: required(period),
  quota: required(finiteNumber, "Of the period, by rule or plan."),
  granted: required(finiteNumber, "The quota, top-ups and what was carried over."),
  used: required(finiteNumber, "Units that were charged and settled."),
  held: required(
    open({
      reserved: required(finiteNumber, "Units of reservations that are not settled."),
      leased: required(finiteNumber, "Units in leases, which nodes spend by themselves."),
    }),
  ),
  balance: required(finiteNumber, "What is left; below zero if more was used than granted."),
  forecast: required(orNull(forecast), "Null if nothing was used."),
});

/** What was used of one meter. */
export const usageShape = open({
  meter: required(text, "The id of the rule."),
  part: required(finiteNumber, "Which of the limits of the rule, from 0."),
  units: required(finiteNumber),
  days: required(many(open({ day: required(text), units: required(finiteNumber) }))),
});

const entry = open({
  accountId: required(text),
  meter: required(text, "The id of the rule."),
  part: required(finiteNumber, "Which of the limits of the rule, from 0."),
  subject: required(text, "The key as the rule counts it."),
  periodStartMs: required(finiteNumber),
  periodEndMs: required(finiteNumber),
  sequence: required(finiteNumber, "1 for the first of its account."),
  kind: required(choice(ENTRY_KINDS)),
  amount: required(finiteNumber, "What it adds to the balance: a use is negative."),
  balance: required(finiteNumber, "The balance after it."),
  idempotencyKey: required(text),
  settles: required(orNull(finiteNumber), "The sequence number of the entry that it settles."),
  actor: required(text, "The node or the operator."),
  atMs: required(finiteNumber),
  details: required(orNull(recordOf(anyName, anything(), ANY_COUNT))),
  previousHash: required(text),
});

const problem = open({
  check: required(choice(CHECK_NAMES), "What was checked."),
  accountId: required(text),
  meter: required(orNull(text)),
  subject: required(orNull(text)),
  sequence: required(orNull(finiteNumber), "The entry; null if it is about the account."),
  problem: required(text),
});

const reconciled = open({
  meter: required(text, "The id of the rule."),
  part: required(finiteNumber, "Which of the limits of the rule, from 0."),
  period: required(period),
  charged: required(finiteNumber, "Units that the ledger has charged."),
  admitted: required(finiteNumber, "Units that processes counted when they answered."),
  repeated: required(finiteNumber, "Of requests that were sent again under their id."),
  uncharged: required(
    finiteNumber,
    "Units that were admitted by onStoreFailure while the ledger did not answer.",
  ),
  leased: required(finiteNumber, "In leases that were not returned yet."),
  reserved: required(finiteNumber, "In reservations that were not settled yet."),
  lapsed: required(finiteNumber, "Returned when their grant had ended: they stay charged."),
  unreported: required(
    finiteNumber,
    "Charged, and not reported yet by the process that charged it, which may have died.",
  ),
  unexplained: required(finiteNumber, "What the entries don't explain of what is charged."),
  drift: required(
    finiteNumber,
    "Units that were admitted beyond all that was charged; below zero: charged, and admitted by no process.",
  ),
});

const hold = open({
  accountId: required(text),
  meter: required(text),
  subject: required(text),
  sequence: required(finiteNumber, "Of its entry."),
  kind: required(choice(["reserve", "lease"])),
  units: required(finiteNumber),
  holder: required(text, "The process that has it."),
  expiresAtMs: required(finiteNumber),
  isOverdue: required(
    flag,
    "Whether it should have been settled: the process of such a lease died.",
  ),
});

const uncharged = open({
  accountId: required(text),
  meter: required(text),
  subject: required(text, "Empty: of accounts that the process did not keep apart."),
  units: required(finiteNumber),
  holder: required(text, "The process that admitted them."),
});

const silentProcess = open({
  holder: required(text),
  startedAtMs: required(finiteNumber),
  reportedAtMs: required(finiteNumber),
});

/** The shapes, by what is answered. */
export const ledgerAnswers = {
  quotas: open({
    tenant: required(text),
    timeZone: required(text, "In which days begin."),
    items: required(many(quotaShape), "Meters that the tenant has not used are not listed."),
  }),
  quotaShares: pageOf(
    open({
      tenant: required(text),
      accountId: required(text),
      meter: required(text, "The id of the rule."),
      part: required(finiteNumber, "Which of the limits of the rule, from 0."),
      period: required(period),
      granted: required(finiteNumber, "The quota, top-ups and what was carried over."),
      used: required(finiteNumber, "Units that were charged, reserved or leased."),
      balance: required(finiteNumber, "What is left; below zero if more was used than granted."),
    }),
  ),
  usage: open({
    tenant: required(text),
    timeZone: required(text, "In which days begin."),
    fromMs: required(finiteNumber),
    toMs: required(finiteNumber),
    by: required(choice(["day"])),
    items: required(many(usageShape)),
  }),
  correction: open({
    tenant: required(text),
    meter: required(text),
    units: required(finiteNumber),
    accountId: required(text),
    sequence: required(finiteNumber, "Of its entry."),
    balance: required(finiteNumber, "What was left after it."),
    granted: required(finiteNumber, "The quota, top-ups and what was carried over, now."),
    isRepeated: required(flag, "Whether it was made before, under the same Idempotency-Key."),
  }),
  ledgerEntries: pageOf(entry),
  reconciliation: open({
    explained: required(flag, "Whether all of the difference is explained."),
    meters: required(many(reconciled)),
    holdCount: required(finiteNumber),
    holds: required(many(hold), "A hundred at most: the overdue ones first, then the largest."),
    uncharged: required(
      many(uncharged),
      "Who was admitted while the ledger did not answer. A hundred at most, the largest.",
    ),
    silent: required(
      many(silentProcess),
      "Processes that stopped reporting what they admit: they died, or can't reach the database.",
    ),
  }),
  ledgerReport: open({
    valid: required(flag),
    accounts: required(finiteNumber, "Accounts that were read."),
    entries: required(finiteNumber, "Entries that were read."),
    problemCount: required(finiteNumber),
    problems: required(many(problem), "The first hundred."),
  }),
} as const;
