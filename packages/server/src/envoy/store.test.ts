import { memoryStore, resilient } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, it, vi } from "vitest";
import { descriptor, HeldStore, openWith, START_MS } from "../../test/envoy-harness.js";

const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 10, sluice: { onStoreFailure: closed } }
`;
const REDIS = {
  kind: "redis",
  onStoreFailure: "local",
  url: "redis://127.0.0.1:6379",
  keyPrefix: undefined,
  failReadiness: false,
} as const;
const ALICE = [descriptor({ user: "alice" })];

it.each([
  ["15 ms, before Envoy gives up", 15, { workers: 1, timeoutMs: 50 }],
  ["less if Redis may take less", 5, { workers: 1, timeoutMs: 5 }],
  ["what the primary says in a worker", 50, { workers: 2, timeoutMs: 50 }],
])(
  "waits for a store that the service has guarded %s",
  async (_, waitMs, { workers, timeoutMs }) => {
    const clock = new ManualClock(START_MS);
    const held = new HeldStore(memoryStore());
    const store = resilient(held, { timeoutMs, clock });
    const config = { workers, store: { ...REDIS, timeoutMs } };
    const { client } = await openWith(FILE, { store, clock, config });
    let isAnswered = false;
    const answered = client.ask({ descriptors: ALICE }).then((answer) => {
      isAnswered = true;
      return answer;
    });
    await vi.waitUntil(() => held.waiting.length === 1, { timeout: 20_000 });
    clock.advance(waitMs - 1);
    // What needs no store is answered after what was answered before it.
    await client.ask({ domain: "unknown", descriptors: ALICE });
    expect(isAnswered).toBe(false);
    clock.advance(1);
    expect((await answered).overallCode).toBe(2);
  },
);
