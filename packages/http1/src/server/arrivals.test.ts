import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { ARRIVAL_MS_MAX, Arrivals } from "./arrivals.js";

/** The end of a turn of the event loop, after everything that was scheduled before. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function start() {
  const served: unknown[] = [];
  const arrivals = new Arrivals((socket) => served.push(socket));
  return { served, add: (name: string) => arrivals.add(name as unknown as Socket) };
}

it("serves a connection that arrives alone in the turn after it", async () => {
  const { served, add } = start();
  add("a");
  await turn();
  expect(served).toEqual([]);
  await turn();
  expect(served).toEqual(["a"]);
  add("b");
  await turn();
  await turn();
  expect(served).toEqual(["a", "b"]);
});

it("serves those that come turn after turn once no more come, in their order", async () => {
  const { served, add } = start();
  const names = Array.from({ length: 50 }, (_, i) => `${i}`);
  for (const name of names) {
    add(name);
    await turn();
    expect(served).toEqual([]);
  }
  await turn();
  expect(served).toEqual(names);
});

it("lets none wait for longer than its bound, however many come", async () => {
  const { served, add } = start();
  const startMs = performance.now();
  let longestMs = 0;
  for (let i = 0; performance.now() - startMs < 3 * ARRIVAL_MS_MAX; i++) {
    add(`${i}`);
    await turn();
    if (served.length === 0) longestMs = performance.now() - startMs;
  }
  expect(served.length).toBeGreaterThan(0);
  expect(longestMs).toBeLessThan(2 * ARRIVAL_MS_MAX);
});
