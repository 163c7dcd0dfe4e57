// Every verb takes the time in its options. With it, a limit can be tried on yesterday's log before
// it applies to today's callers: what would it have refused?

import { createLimiter, slidingWindowLog } from "sluice";

const log = [
  { at: "2026-03-01T09:00:00.000Z", user: "ada" },
  { at: "2026-03-01T09:00:00.400Z", user: "ada" },
  { at: "2026-03-01T09:00:00.900Z", user: "ada" },
  { at: "2026-03-01T09:00:00.950Z", user: "bob" },
  { at: "2026-03-01T09:00:01.000Z", user: "ada" },
];

const limiter = createLimiter({ limit: slidingWindowLog({ limit: 2, windowMs: 1_000 }) });

for (const { at, user } of log) {
  const { allowed, retryAfterMs } = limiter.check(user, { nowMs: Date.parse(at) });
  console.log(`${at} ${user} ${allowed ? "admitted" : `refused for ${retryAfterMs} ms`}`);
}

// Prints:
// 2026-03-01T09:00:00.000Z ada admitted
// 2026-03-01T09:00:00.400Z ada admitted
// 2026-03-01T09:00:00.900Z ada refused for 100 ms
// 2026-03-01T09:00:00.950Z bob admitted
// 2026-03-01T09:00:01.000Z ada admitted
