// A limit of concurrent requests that follows what the backend can take: it falls when the backend gets slow, and comes
// back when it recovers. Requests of low priority are refused first.

import { type AdaptivePermit, adaptiveConcurrency } from "sluice/adaptive";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
const limit = adaptiveConcurrency({ algorithm: "gradient", min: 4, max: 60, clock });

/** As many requests as there is room for, again and again, to a backend that serves so many together in 20 ms. */
function load(seconds: number, workers: number): void {
  const endMs = clock.now() + seconds * 1_000;
  while (clock.now() < endMs) {
    const permits: AdaptivePermit[] = [];
    for (let permit = limit.acquire(); permit.allowed; permit = limit.acquire())
      permits.push(permit);
    clock.advance(Math.max(20, (20 * permits.length) / workers));
    for (const permit of permits) permit.release("ok");
  }
}

const show = (what: string) => console.log(`${what}: limit ${limit.limit}`);
show("at the start");
load(8, 40);
show("40 workers");
load(8, 10);
show("30 of them are gone");
load(8, 40);
show("they are back");

// Low priority may fill half of the limit, so that critical requests always find room.
const low = Array.from({ length: 100 }, () => limit.acquire({ priority: "low" }));
console.log(`low: ${low.filter(({ allowed }) => allowed).length} of 100 admitted`);
console.log(`critical: ${limit.acquire({ priority: "critical" }).allowed ? "admitted" : "shed"}`);

// Prints:
// at the start: limit 20
// 40 workers: limit 60
// 30 of them are gone: limit 21
// they are back: limit 60
// low: 30 of 100 admitted
// critical: admitted
