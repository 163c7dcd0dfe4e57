// A limit on how much work runs at the same time. A permit is released when the work is done; if its holder crashes
// without releasing it, the permit expires after `permitMs`.

import { concurrency, createLimiter } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const limiter = createLimiter({ limit: concurrency({ limit: 2, permitMs: 30_000 }), clock });

async function exportReport(tenant: string): Promise<string> {
  const permit = limiter.acquire(tenant);
  if (!permit.allowed) return `busy, a place is free within ${permit.retryAfterMs} ms`;
  try {
    return await buildReport();
  } finally {
    permit.release();
  }
}

async function buildReport(): Promise<string> {
  return "report";
}

const three = [exportReport("tenant:7"), exportReport("tenant:7"), exportReport("tenant:7")];
console.log((await Promise.all(three)).join("; "));
console.log(await exportReport("tenant:7"));

// Two holders that never come back.
limiter.acquire("tenant:7");
limiter.acquire("tenant:7");
clock.advance(29_999);
console.log(await exportReport("tenant:7"));
clock.advance(1);
console.log(await exportReport("tenant:7"));

// Prints:
// report; report; busy, a place is free within 30000 ms
// report
// busy, a place is free within 1 ms
// report
