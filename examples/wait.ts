// Slows work down to the rate of a limit: each call waits for its turn, and gives up if that takes too long.

import { createLimiter, tokenBucket } from "sluice";

const limiter = createLimiter({ limit: tokenBucket({ capacity: 2, refillPerSecond: 20 }) });

async function call(name: string): Promise<string> {
  const { allowed, retryAfterMs } = await limiter.wait("partner-api", { timeoutMs: 120 });
  return allowed
    ? `${name}: sent`
    : `${name}: gave up, ${retryAfterMs > 0 ? "try later" : "try again"}`;
}

// Two leave immediately, the next two 50 and 100 ms later. The last would be 150 ms late.
const calls = await Promise.all(["a", "b", "c", "d", "e"].map(call));
console.log(calls.join("\n"));

// Prints:
// a: sent
// b: sent
// c: sent
// d: sent
// e: gave up, try later
