// Slows work down to the rate of a limit: each call waits for its turn, and gives up if that takes too long.

import { createLimiter, tokenBucket } from "sluice";

const limiter = createLimiter({ limit: tokenBucket({ capacity: 2, refillPerSecond: 5 }) });

async function call(name: string, timeoutMs = 10_000): Promise<string> {
  const { allowed } = await limiter.wait("partner-api", { timeoutMs });
  return `${name}: ${allowed ? "sent" : "gave up"}`;
}

// Two leave immediately, the next two 200 and 400 ms later. The last would leave after 600 ms, and has only 20.
const calls = ["a", "b", "c", "d"].map((name) => call(name));
calls.push(call("e", 20));
console.log((await Promise.all(calls)).join("\n"));

// Prints:
// a: sent
// b: sent
// c: sent
// d: sent
// e: gave up
