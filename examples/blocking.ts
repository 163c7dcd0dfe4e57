// After three wrong passwords in a minute, the account is blocked for a quarter of an hour, whatever the limit
// has left by then. A support desk can lift the block.

import { createLimiter, slidingWindowLog } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const failures = createLimiter({ limit: slidingWindowLog({ limit: 3, windowMs: 60_000 }), clock });

function logIn(account: string, password: string): string {
  const { allowed, retryAfterMs } = failures.peek(account);
  if (!allowed) return `closed for ${retryAfterMs / 1_000} s`;
  if (password === "correct") return "welcome";
  const { remaining } = failures.check(account);
  if (remaining === 0) failures.block(account, 900_000);
  return `wrong, ${remaining} tries left`;
}

for (const guess of ["123456", "password", "qwerty", "correct"]) {
  console.log(logIn("ada", guess));
}
clock.advance(60_000);
console.log(logIn("ada", "correct"));
failures.unblock("ada");
console.log(logIn("ada", "correct"));

// Prints:
// wrong, 2 tries left
// wrong, 1 tries left
// wrong, 0 tries left
// closed for 900 s
// closed for 840 s
// welcome
