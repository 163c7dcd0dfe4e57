// A shaper does not refuse a burst but spreads it: each admitted request gets a delay, so that all leave at an even
// pace. Here 20 a second, with at most 3 waiting.

import { setTimeout as sleep } from "node:timers/promises";
import { createLimiter, leakyBucket } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const limiter = createLimiter({ limit: leakyBucket({ ratePerSecond: 20, queueSize: 3 }), clock });

async function send(message: string): Promise<string> {
  const { allowed, delayMs, retryAfterMs } = limiter.check("partner-api");
  if (!allowed) return `${message}: queue full, come back in ${retryAfterMs} ms`;
  await sleep(delayMs);
  return `${message}: sent after ${delayMs} ms`;
}

const sent = await Promise.all(["a", "b", "c", "d", "e"].map(send));
console.log(sent.join("\n"));

// Prints:
// a: sent after 0 ms
// b: sent after 50 ms
// c: sent after 100 ms
// d: sent after 150 ms
// e: queue full, come back in 50 ms
