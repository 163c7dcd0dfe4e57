// What an adaptive limit costs: acquire and release, over those of a fixed concurrency limit of the library, which has
// keys and expiries, and beside it over the least that a fixed limit can be: a counter, and a permit that is released
// once. All keep ten requests in flight, so that lists of permits are not empty.

import { concurrency, createLimiter } from "sluice";
import { adaptiveConcurrency } from "sluice/adaptive";
import { type Bench, type Finding, toFinding } from "../bench.js";
import { type Comparison, type Contender, interleave, type Run, toComparison } from "../harness.js";

const OPERATIONS = 200_000;
const IN_FLIGHT = 10;
const LIMIT = 100;

export const overhead: Bench<readonly Comparison[]> = {
  id: "adaptive/overhead",
  unit: "ratio",
  bound: { is: "at least", bar: 0.8, goal: 1 },
  parts: ["all"],
  runPart: measure,
  conclude: ([[judged, ...beside]]) => [
    toFinding(judged as Comparison),
    ...beside.map((each): Finding => ({ ...toFinding(each), isJudged: false })),
  ],
};

async function measure(): Promise<readonly Comparison[]> {
  const contenders = [adaptive(), fixed(), counter()];
  const runs = await interleave(contenders, { operations: OPERATIONS });
  const [ours, limiter, least] = runs as [Run, Run, Run];
  return [toComparison(ours, limiter), toComparison(ours, least)];
}

function adaptive(): Contender {
  const limit = adaptiveConcurrency({ min: 20, max: LIMIT, initial: LIMIT });
  const held = Array.from({ length: IN_FLIGHT }, () => limit.acquire());
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      held[i % IN_FLIGHT].release("ok");
      const permit = limit.acquire();
      if (permit.allowed) admitted++;
      held[i % IN_FLIGHT] = permit;
    }
    return admitted;
  };
  return { name: "adaptiveConcurrency acquire and release", run };
}

function fixed(): Contender {
  const limiter = createLimiter({ limit: concurrency({ limit: LIMIT, permitMs: 300_000 }) });
  const held = Array.from({ length: IN_FLIGHT }, () => limiter.acquire("backend"));
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      held[i % IN_FLIGHT].release();
      const permit = limiter.acquire("backend");
      if (permit.allowed) admitted++;
      held[i % IN_FLIGHT] = permit;
    }
    return admitted;
  };
  return { name: "concurrency limit, acquire and release", run };
}

/** A permit of a counter. Releasing it twice must not free two places. */
class CountedPermit {
  readonly #counter: { inFlight: number };
  #isHeld = true;

  constructor(counter: { inFlight: number }) {
    this.#counter = counter;
  }

  release(): void {
    if (this.#isHeld) this.#counter.inFlight--;
    this.#isHeld = false;
  }
}

function counter(): Contender {
  const limit = { inFlight: 0 };
  const acquire = () => {
    if (limit.inFlight >= LIMIT) return undefined;
    limit.inFlight++;
    return new CountedPermit(limit);
  };
  const held = Array.from({ length: IN_FLIGHT }, acquire);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      held[i % IN_FLIGHT]?.release();
      const permit = acquire();
      if (permit !== undefined) admitted++;
      held[i % IN_FLIGHT] = permit;
    }
    return admitted;
  };
  return { name: "a counter, acquire and release", run };
}
