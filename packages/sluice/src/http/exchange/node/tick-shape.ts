// Keeps the objects that `process.nextTick` queues cheap to make. V8 forgets the shape of these objects when a full
// garbage collection finds none of them alive, and from then on builds each one on its slowest path: 350 ns instead
// of 90, for every one of the many that a request queues. Any server whose heap is collected at a quiet moment
// loses 4 of some 17 µs a request that way. As long as one such object is alive, so is the shape (bench http/fastify).

import { executionAsyncResource } from "node:async_hooks";

const kept: object[] = [];

/** Keeps one object that `process.nextTick` queued, for as long as the process lives. */
export function keepTickShape(): void {
  process.nextTick(() => {
    if (kept.length === 0) kept.push(executionAsyncResource());
  });
}
