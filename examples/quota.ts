// A plan of 1,000 units a month that renews on the customer's billing day: the 31st, or the last day of shorter
// months, at midnight in New York.

import { createLimiter, quota } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(Date.parse("2026-02-10T12:00:00-05:00")); // Leave it out in your code.
const limiter = createLimiter({
  limit: quota({ limit: 1_000, period: "month", timeZone: "America/New_York", anchor: 31 }),
  clock,
});

function spend(cost: number): void {
  const { allowed, remaining, resetMs } = limiter.check("customer:42", { cost });
  const resetsAt = new Date(clock.now() + resetMs).toISOString();
  console.log(`${allowed ? "spent" : "refused"} ${cost}: ${remaining} left, all back ${resetsAt}`);
}

spend(900);
spend(200);
clock.set(Date.parse("2026-02-28T00:00:00-05:00"));
spend(200);

// Prints:
// spent 900: 100 left, all back 2026-02-28T05:00:00.000Z
// refused 200: 100 left, all back 2026-02-28T05:00:00.000Z
// spent 200: 800 left, all back 2026-03-31T04:00:00.000Z
