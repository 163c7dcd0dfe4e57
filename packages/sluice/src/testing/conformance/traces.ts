// Random traces: requests, settlements, grants and resets on several keys, at times that favour
// borders (exactly at retryAfterMs, one millisecond before). After every step the store has to
// answer what the pure functions answer, also on a clock that steps back and forth. Each trace is drawn
// from the seed and its number alone.

import { TIME_MS_MAX } from "../../base/clock.js";
import type { Decision } from "../../base/decision.js";
import type { Limiter } from "../../limiter/limiter-verbs.js";
import type { Limit } from "../../limits/limits.js";
import type { Claim, Stand } from "./claim.js";
import { expectDecision } from "./expect.js";
import { SeededRandom } from "./random.js";
import { type DrawnAlgorithm, drawLimit } from "./random-limits.js";
import { Reference, type ReferenceOutcome } from "./reference.js";
import { isHeld, limiterOn } from "./stand.js";

const GROUP = "random traces are answered as the pure functions answer them";
const STEPPING_GROUP =
  "random traces on a clock that steps back are answered as by the pure functions";
const STEPS = 50;
const KEYS = ["a", "b", "user:42"];
const START_MS = Date.UTC(1971, 0, 1);
const COST_MAX = Number.MAX_SAFE_INTEGER;

type Draw = (random: SeededRandom, stand: Stand) => readonly Limit[];

const ALGORITHMS = Object.keys(drawLimit) as DrawnAlgorithm[];

/** For each kind of clock one claim for each algorithm, and one for several limits together. */
export const traceClaims: readonly Claim[] = [GROUP, STEPPING_GROUP].flatMap((group) => [
  ...ALGORITHMS.map((algorithm) => ({
    ...traceClaim(group, algorithm, (random) => [drawLimit[algorithm](random)]),
    about: [algorithm],
  })),
  traceClaim(group, "several limits together", drawSeveral),
]);

function traceClaim(group: string, title: string, draw: Draw): Claim {
  const check = async (stand: Stand) => {
    for (let number = 0; number < stand.traces; number++) {
      await runTrace(stand, { group, title, number, draw });
    }
  };
  return { group, title, check };
}

function drawSeveral(random: SeededRandom, { algorithms }: Stand): readonly Limit[] {
  const held = ALGORITHMS.filter((algorithm) => algorithms.has(algorithm));
  const rates = held.filter((algorithm) => algorithm !== "concurrency");
  const draws = (rates.length > 0 ? rates : held).map((algorithm) => drawLimit[algorithm]);
  return Array.from({ length: random.between(2, 3) }, () => random.pick(draws)(random));
}

interface TraceName {
  readonly group: string;
  readonly title: string;
  readonly number: number;
  readonly draw: Draw;
}

async function runTrace(stand: Stand, { group, title, number, draw }: TraceName): Promise<void> {
  const random = new SeededRandom(`${stand.seed}/${title}/${number}`);
  const limits = draw(random, stand);
  const limiter = limiterOn(stand, limits, `${title} ${number}`);
  const stepsBack = group === STEPPING_GROUP;
  const trace = new Trace(stand, random, { limits, limiter, stepsBack });
  stand.clock.set(random.between(START_MS, TIME_MS_MAX));
  for (let step = 0; step < STEPS; step++) {
    try {
      await trace.step();
    } catch (error) {
      const where = `seed ${stand.seed}, trace ${number}, step ${step}`;
      const numbers = JSON.stringify(limits);
      throw new Error(`${where}: ${(error as Error).message}; limits ${numbers}`, { cause: error });
    }
  }
}

/** A charge that can still be settled, by the store and by the reference. */
interface Pending {
  readonly key: string;
  readonly cost: number;
  readonly held: ReferenceOutcome["held"];
  settle(kept: number): unknown;
}

interface TraceSubject {
  readonly limits: readonly Limit[];
  readonly limiter: Limiter<false>;
  /** Whether the clock also goes back. */
  readonly stepsBack: boolean;
}

class Trace {
  readonly #stand: Stand;
  readonly #random: SeededRandom;
  readonly #stepsBack: boolean;
  readonly #limiter: Limiter<false>;
  readonly #reference: Reference;
  readonly #verbs: readonly (() => Promise<void>)[];
  readonly #unitsMin: number;
  readonly #recoveryMsMax: number;
  readonly #pending: Pending[] = [];
  #latest: Decision | undefined;

  constructor(stand: Stand, random: SeededRandom, { limits, limiter, stepsBack }: TraceSubject) {
    this.#stand = stand;
    this.#random = random;
    this.#stepsBack = stepsBack;
    this.#limiter = limiter;
    this.#reference = new Reference(limits);
    this.#verbs = this.#verbsOf(limits);
    this.#unitsMin = Math.min(...limits.map(({ capacity: limit }) => limit));
    this.#recoveryMsMax = Math.max(...limits.map(({ recoveryMs }) => recoveryMs));
  }

  async step(): Promise<void> {
    const { clock } = this.#stand;
    const isBack = this.#stepsBack && this.#random.chance(0.3);
    const pauseMs = isBack ? -this.#drawStepBackMs() : this.#drawPauseMs();
    clock.set(Math.max(START_MS, Math.min(TIME_MS_MAX, clock.now() + pauseMs)));
    await this.#random.pick(this.#verbs)();
  }

  /** Each verb as often as it is to be drawn. */
  #verbsOf(limits: readonly Limit[]): readonly (() => Promise<void>)[] {
    const check = () => this.#check();
    const peek = () => this.#peek(this.#drawKey(), this.#drawCost());
    const settle = () => this.#settle();
    const refund = () => this.#refund();
    const reset = () => this.#reset();
    const block = () => this.#block();
    const others = [peek, settle, settle, reset, block];
    if (isHeld(limits)) {
      const acquire = () => this.#acquire();
      return [acquire, acquire, acquire, acquire, ...others];
    }
    const reserve = () => this.#reserve();
    return [check, check, check, check, reserve, reserve, refund, ...others];
  }

  async #check(): Promise<void> {
    const [key, cost] = [this.#drawKey(), this.#drawCost()];
    const nowMs = this.#stand.clock.now();
    const seen = await this.#limiter.check(key, { cost });
    const expected = this.#reference.take(key, cost, nowMs);
    this.#same(`check of ${cost} by "${key}" at ${nowMs}`, seen, expected);
  }

  async #reserve(): Promise<void> {
    const [key, cost] = [this.#drawKey(), this.#drawCost()];
    const reservation = await this.#limiter.reserve(key, { cost });
    const held = this.#hold("reserve", key, cost, reservation);
    const settle = (kept: number) =>
      kept === 0 && this.#random.chance(0.5) ? reservation.cancel() : reservation.commit(kept);
    if (reservation.allowed) this.#pending.push({ key, cost, held, settle });
  }

  async #acquire(): Promise<void> {
    const [key, cost] = [this.#drawKey(), this.#drawCost()];
    const permit = await this.#limiter.acquire(key, { cost });
    const held = this.#hold("acquire", key, cost, permit);
    if (permit.allowed) this.#pending.push({ key, cost, held, settle: () => permit.release() });
  }

  async #settle(): Promise<void> {
    const at = this.#random.between(0, this.#pending.length - 1);
    const [pending] = this.#pending.splice(at, 1);
    if (pending === undefined) return;
    const { key, cost, held } = pending;
    const isPermit = held.some(({ cell }) => isHeld([cell.limit]));
    const kept = isPermit ? 0 : this.#drawKept(cost);
    await pending.settle(kept);
    this.#reference.settle(held, kept, this.#stand.clock.now());
    await this.#peek(key, 1, `keeping ${kept} of ${cost}, then `);
  }

  async #refund(): Promise<void> {
    const [key, cost] = [this.#drawKey(), this.#drawCost()];
    await this.#limiter.refund(key, cost);
    this.#reference.refund(key, cost, this.#stand.clock.now());
    await this.#peek(key, 1, `refund of ${cost}, then `);
  }

  async #reset(): Promise<void> {
    const key = this.#drawKey();
    await this.#limiter.reset(key);
    this.#reference.reset(key, this.#stand.clock.now());
    await this.#peek(key, 1, "reset, then ");
  }

  async #block(): Promise<void> {
    const [key, forMs] = [this.#drawKey(), this.#drawBlockMs()];
    if (forMs === 0) await this.#limiter.unblock(key);
    else await this.#limiter.block(key, forMs);
    this.#reference.block(key, forMs, this.#stand.clock.now());
    await this.#peek(key, 1, `block for ${forMs} ms, then `);
  }

  async #peek(key: string, cost: number, after = ""): Promise<void> {
    const nowMs = this.#stand.clock.now();
    const seen = await this.#limiter.peek(key, { cost });
    const what = `${after}peek of ${cost} by "${key}" at ${nowMs}`;
    this.#same(what, seen, this.#reference.peek(key, cost, nowMs));
  }

  #hold(verb: string, key: string, cost: number, seen: Decision): ReferenceOutcome["held"] {
    const nowMs = this.#stand.clock.now();
    const { decision, held } = this.#reference.hold(key, cost, nowMs);
    this.#same(`${verb} of ${cost} by "${key}" at ${nowMs}`, seen, decision);
    return held;
  }

  #same(what: string, seen: Decision, decision: Decision): void {
    const { source: _, ...expected } = decision;
    expectDecision(what, seen, expected);
    this.#latest = decision;
  }

  #drawKey(): string {
    return this.#random.pick(KEYS);
  }

  #drawCost(): number {
    const random = this.#random;
    const units = this.#unitsMin;
    if (random.chance(0.7)) return random.between(1, Math.max(1, Math.ceil(units / 3)));
    return random.pick([0, 1, units, units + 1, COST_MAX]);
  }

  #drawKept(cost: number): number {
    const random = this.#random;
    return random.pick([0, 0, random.between(0, cost), cost, cost + this.#drawExcess()]);
  }

  #drawExcess(): number {
    return this.#random.between(1, this.#unitsMin);
  }

  /** Short beside the limits, so that most of a trace is decided by them; 0 ends a block. */
  #drawBlockMs(): number {
    const random = this.#random;
    return random.pick([0, 1, random.between(1, Math.ceil(this.#recoveryMsMax / 8))]);
  }

  #drawStepBackMs(): number {
    const random = this.#random;
    const { resetMs = 0 } = this.#latest ?? {};
    const stepMs = Number.isFinite(resetMs) ? resetMs : 0;
    return random.pick([
      1,
      stepMs,
      stepMs + 1,
      random.between(0, Math.ceil(this.#recoveryMsMax / 4)),
      random.between(0, 3 * this.#recoveryMsMax),
    ]);
  }

  #drawPauseMs(): number {
    const random = this.#random;
    const { retryAfterMs = 0, resetMs = 0 } = this.#latest ?? {};
    const waitMs = Number.isFinite(retryAfterMs) ? retryAfterMs : 0;
    return random.pick([
      0,
      0,
      0,
      1,
      waitMs,
      Math.max(0, waitMs - 1),
      resetMs,
      random.between(0, Math.ceil(this.#recoveryMsMax / 4)),
    ]);
  }
}
