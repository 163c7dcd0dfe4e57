// Clients under one limit, in time that only moves here: they want more than it admits, and each learns of it only from the
// responses that it gets itself. The limit and its headers are those of Sluice's own middleware.

import { createFetch } from "../../src/client/client.js";
import { rateLimit } from "../../src/http/adapters/fetch/fetch.js";
import type { Limit } from "../../src/limits/limits.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { seededRandom } from "./seeded-random.js";
import { settle } from "./stubbed-client.js";

export interface Population {
  readonly limit: Limit;
  readonly clients: number;
  /** Of each client. */
  readonly wantedPerSecond: number;
  readonly seconds: number;
  readonly seed: number;
}

/** What became of the requests. */
export interface PopulationResult {
  /** Responses in each second. */
  readonly answered: readonly number[];
  readonly refused: number;
  /** Responses of each client. */
  readonly answeredByClient: readonly number[];
}

const LATENCY_MS = 30;
const DEADLINE_MS = 2_000;

export async function simulateClients(population: Population): Promise<PopulationResult> {
  const { limit, clients, wantedPerSecond, seconds, seed } = population;
  const clock = new ManualClock(1_800_000_000_000);
  const endMs = clock.now() + seconds * 1_000;
  const random = seededRandom(seed);
  const delay = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  const limiter = rateLimit({ limit, key: () => "all", clock });
  const answered: number[] = Array(seconds).fill(0);
  const answeredByClient: number[] = Array(clients).fill(0);
  let refused = 0;
  const handle = limiter.wrap(() => {
    const second = seconds - Math.ceil((endMs - clock.now()) / 1_000);
    answered[second] = (answered[second] ?? 0) + 1;
    return new Response("ok");
  });

  const runClient = async (i: number) => {
    const fetch = createFetch({
      clock,
      random,
      deadlineMs: DEADLINE_MS,
      fetch: async (input) => {
        await delay(LATENCY_MS / 2);
        const response = await handle(new Request(input));
        await delay(LATENCY_MS / 2);
        return response;
      },
      onEvent: ({ type }) => {
        if (type === "refused") refused++;
      },
    });
    const everyMs = 1_000 / wantedPerSecond;
    await delay(random() * everyMs);
    while (clock.now() < endMs) {
      // Those that are not sent in time, and refusals, are not answered.
      void fetch("http://api.example/").then(
        ({ ok }) => {
          if (ok) answeredByClient[i] = (answeredByClient[i] ?? 0) + 1;
        },
        () => {},
      );
      await delay(everyMs * (0.5 + random()));
    }
  };

  for (let i = 0; i < clients; i++) void runClient(i);
  while (clock.now() < endMs) {
    clock.advance(1);
    await settle();
  }
  await limiter.close();
  return { answered: answered.slice(0, seconds), refused, answeredByClient };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
