// How to test your own code: pass it a clock, and let the test pass a ManualClock. No test sleeps, and each can
// test the exact boundary.

import assert from "node:assert/strict";
import { type Clock, createLimiter, fixedWindow } from "sluice";
import { ManualClock } from "sluice/testing";

/** Your code: sends at most two mails a minute to each address. */
function createMailer(options: { clock?: Clock } = {}) {
  const limiter = createLimiter({ limit: fixedWindow({ limit: 2, windowMs: 60_000 }), ...options });
  return { send: (address: string) => (limiter.check(address).allowed ? "sent" : "held back") };
}

/** Your test. */
function holdsBackTheThirdMailOfAMinute(): void {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const mailer = createMailer({ clock });
  assert.equal(mailer.send("ada@example.org"), "sent");
  assert.equal(mailer.send("ada@example.org"), "sent");
  clock.advance(59_999);
  assert.equal(mailer.send("ada@example.org"), "held back");
  clock.advance(1);
  assert.equal(mailer.send("ada@example.org"), "sent");
}

holdsBackTheThirdMailOfAMinute();
console.log("holds back the third mail of a minute: passed");

// Prints:
// holds back the third mail of a minute: passed
