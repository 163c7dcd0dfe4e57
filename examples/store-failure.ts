// What happens when the store does not answer. Three limiters share one store over a connection that is cut and
// restored. Each has its own policy: searches continue under half of their limit, logins are refused, and the status
// page is let through.

import { createLimiter, fixedWindow, memoryStore, resilient, type Store } from "sluice";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
let isCut = false;

// Stands for a store in another process.
const far = new Proxy<Store>(memoryStore(), {
  get: (target, verb) =>
    verb === "isRemote" ||
    (async (...args: unknown[]) => {
      if (isCut) throw new Error("connection refused");
      return Reflect.get(target, verb).apply(target, args);
    }),
});

const store = resilient(far, {
  breaker: { failuresMax: 2 },
  onEvent: ({ kind, reason }) => console.log(`-- fallback ${kind}: ${reason}`),
  clock,
});
const limit = fixedWindow({ limit: 10, windowMs: 60_000 });
const search = createLimiter({ name: "search", limit, store, clock });
const login = createLimiter({ name: "login", limit, store, clock, onStoreFailure: "closed" });
const status = createLimiter({ name: "status", limit, store, clock, onStoreFailure: "open" });

async function ask(): Promise<void> {
  for (const [name, limiter] of Object.entries({ search, login, status })) {
    const { allowed, remaining, source } = await limiter.check("203.0.113.10", { cost: 3 });
    console.log(`${name}: ${allowed ? "yes" : "no"}, ${remaining} left, says the ${source}`);
  }
}

await ask();
isCut = true;
await ask();
isCut = false;
clock.advance(1_000);
await ask();
const { state, failures, fallbackDecisions } = store.stats;
console.log(`${state} after ${failures} failures and ${fallbackDecisions} decisions without it`);

// Prints:
// search: yes, 7 left, says the memory
// login: yes, 7 left, says the memory
// status: yes, 7 left, says the memory
// search: yes, 2 left, says the fallback
// -- fallback entered: connection refused
// login: no, 0 left, says the fallback
// status: yes, 10 left, says the fallback
// -- fallback left: the store answers
// search: yes, 4 left, says the memory
// login: yes, 4 left, says the memory
// status: yes, 4 left, says the memory
// closed after 2 failures and 3 decisions without it
