// What regions that merge their counts may admit above a limit: no more than what processes of other regions admitted
// and a region had not heard of yet. Processes report their lag, and what was admitted before it has arrived everywhere;
// so the bound of every admission is counted from what really happened, and grows with the lag of a region that is cut off.

/** How often lags are read. */
export const LAG_STEP_MS = 5;
/** For how long lags are kept: decisions are judged some seconds after they were made. */
const STEPS_KEPT = 4_096;

const NEVER = Number.POSITIVE_INFINITY;

/** When units may be unheard of. */
export interface UnheardOptions {
  readonly regions: number;
  /** Added to each lag: the time between two announcements, and for how long a process spends what it leased. */
  readonly extraMs: number;
  /** The length of windows; undefined if units of all times count together. */
  readonly windowMs: number | undefined;
}

interface KnownNode {
  readonly region: number;
  /** Lags by region, for the latest steps. */
  readonly lagsMs: readonly Float64Array[];
  /** When it ended, and from when on what it admitted will not be announced. Decisions are judged later than they are made. */
  endedAtMs: number;
  lostFromMs: number;
}

/** Counts units that other regions have not heard of. */
export class UnheardUnits {
  readonly #options: UnheardOptions;
  readonly #nodes = new Map<number, KnownNode>();
  /** By caller, then by process: when units were admitted, in order. */
  readonly #admitted = new Map<number, Map<number, number[]>>();
  /** The most units that were unheard of when a limit was exceeded. */
  unitsMax = 0;
  /** The most units by which a limit was exceeded beyond those; there should be none. */
  beyondMax = 0;

  constructor(options: UnheardOptions) {
    this.#options = options;
  }

  /** A process starts. */
  start(node: number, region: number): void {
    const { regions } = this.#options;
    const lagsMs = Array.from({ length: regions }, () => new Float64Array(STEPS_KEPT));
    this.#nodes.set(node, { region, lagsMs, endedAtMs: NEVER, lostFromMs: NEVER });
  }

  /** What a process says of its lag to a region. */
  note(node: number, region: number, lagMs: number, nowMs: number): void {
    const step = Math.floor(nowMs / LAG_STEP_MS) % STEPS_KEPT;
    const lags = this.#nodes.get(node)?.lagsMs[region];
    if (lags !== undefined) lags[step] = lagMs + LAG_STEP_MS;
  }

  /** A process ends: what it has not announced by then may never be. */
  end(node: number, nowMs: number): void {
    const known = this.#nodes.get(node);
    if (known === undefined) return;
    // The latest reading may be of the step before.
    const steps = [nowMs, nowMs - LAG_STEP_MS];
    const longestMs = Math.max(
      ...known.lagsMs.flatMap((_, region) => steps.map((ms) => this.#lagMs(known, region, ms))),
    );
    known.endedAtMs = nowMs;
    known.lostFromMs = nowMs - longestMs - this.#options.extraMs;
  }

  /** A unit was admitted, and the caller is then `above` units over its limit. */
  admit(caller: number, atMs: number, node: number, above: number): void {
    const byNode = this.#admitted.get(caller) ?? new Map<number, number[]>();
    this.#admitted.set(caller, byNode);
    const times = byNode.get(node) ?? [];
    byNode.set(node, times);
    times.push(atMs);
    if (above === 0) return;
    const units = this.#unheardIn(this.#nodes.get(node)?.region ?? 0, byNode, atMs);
    this.unitsMax = Math.max(this.unitsMax, units);
    this.beyondMax = Math.max(this.beyondMax, above - units);
  }

  #unheardIn(region: number, byNode: ReadonlyMap<number, number[]>, atMs: number): number {
    const { windowMs, extraMs } = this.#options;
    const startMs = windowMs === undefined ? 0 : Math.floor(atMs / windowMs) * windowMs;
    let units = 0;
    for (const [node, times] of byNode) {
      const known = this.#nodes.get(node);
      if (known === undefined || known.region === region) continue;
      const heardMs =
        atMs >= known.endedAtMs
          ? known.lostFromMs
          : atMs - this.#lagMs(known, region, atMs) - extraMs;
      units += countFrom(times, Math.max(startMs, heardMs));
    }
    return units;
  }

  #lagMs({ lagsMs }: KnownNode, region: number, atMs: number): number {
    return lagsMs[region][Math.floor(atMs / LAG_STEP_MS) % STEPS_KEPT];
  }
}

/** How many of these times, which are in ascending order, are at `fromMs` or later. */
function countFrom(times: readonly number[], fromMs: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < fromMs) low = middle + 1;
    else high = middle;
  }
  return times.length - low;
}
