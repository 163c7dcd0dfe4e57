// Servers that answer anything at any time, and callers that give up at any moment: whatever happens, every caller gets a
// result, and nothing is left behind. A failure names the seed that repeats it.

import { describe, expect, it } from "vitest";
import type { FetchOptions } from "../../src/client/fetch/create-fetch.js";
import { seededRandom } from "./seeded-random.js";
import { countTimers, reset, settle, setup } from "./stubbed-client.js";

const RUNS = 50;
const REQUESTS = 40;

const FIELDS: readonly Record<string, string>[] = [
  {},
  { "retry-after": "1" },
  { "retry-after": "99999999999999999999" },
  { ratelimit: '"a";r=0;t=1', "ratelimit-policy": '"a";q=5;w=1' },
  { ratelimit: '"a";r=3;t=2, "b";r=0;t=3600' },
  { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1" },
  { "x-ratelimit-global": "true", "retry-after": "0.2" },
  { "x-should-retry": "true" },
];
const STATUSES = [200, 200, 200, 404, 403, 408, 429, 429, 500, 503];

async function run(seed: number) {
  const random = seededRandom(seed);
  const below = (end: number) => Math.floor(random() * end);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const chance = (share: number) => random() < share;

  const controllers: AbortController[] = [];
  let asked = 0;
  let over = 0;
  const abortOne = () => pick(controllers)?.abort(new Error("enough"));

  const options: FetchOptions = {
    random,
    retriesMax: below(4),
    backoffMs: 1 + below(100),
    concurrencyMax: 1 + below(14),
    waitingMax: below(10),
    failuresMax: 1 + below(5),
    openMs: 1 + below(200),
    originsMax: 1 + below(3),
    ...(chance(0.5) ? { deadlineMs: 1 + below(3_000) } : {}),
    ...(chance(0.3) ? { attemptMsMax: 1 + below(300) } : {}),
    onEvent: () => {
      if (chance(0.02)) abortOne();
      if (chance(0.02) && asked < REQUESTS) ask();
    },
    fetch: (_input, init) => {
      if (chance(0.02)) throw new TypeError("not sent");
      return new Promise((resolve, reject) => {
        const follows = chance(0.9);
        init?.signal?.addEventListener("abort", () => follows && reject(init.signal?.reason));
        if (chance(0.05)) return;
        const status = pick(STATUSES);
        const end = chance(0.15)
          ? () => reject(reset())
          : () => resolve(new Response("body", { status, headers: pick(FIELDS) }));
        if (chance(0.2)) end();
        else networkAfter(below(400), end);
      });
    },
  };
  const { fetch, clock } = setup([], options);
  const networkAfter = clock.after.bind(clock);
  const running = countTimers(clock);

  function ask(): void {
    const controller = new AbortController();
    controllers.push(controller);
    const init: RequestInit = { method: pick(["GET", "PUT", "POST"]) };
    if (chance(0.7)) init.signal = controller.signal;
    if (chance(0.05)) controller.abort(new Error("before"));
    const controls = { priority: pick(["low", "normal", "critical"] as const) };
    const url = `https://host${below(4)}.example/${below(5)}`;
    asked++;
    const end = () => void over++;
    fetch(url, init, controls).then(end, end);
    if (chance(0.1)) void afterTurns(below(8)).then(() => controller.abort(new Error("soon")));
  }

  for (let i = 0; i < 20_000 && over < REQUESTS; i++) {
    while (asked < REQUESTS && chance(0.6)) ask();
    if (chance(0.1)) abortOne();
    await settle();
    clock.advance(below(60));
  }
  await settle();
  const { inFlight, waiting } = fetch.stats;
  return { over, inFlight, waiting, timers: running() };
}

async function afterTurns(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await undefined;
}

describe("a client between any servers and any callers", () => {
  it("ends every request, and keeps no place, no wait and no timer", async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      expect(await run(seed), `seed ${seed}`).toEqual({
        over: REQUESTS,
        inFlight: 0,
        waiting: 0,
        timers: 0,
      });
    }
  });
});
