// A limit of concurrent requests that follows what the backend can take. It looks at how long requests take and whether
// they succeed, window by window: when latency rises or errors appear it falls, when the backend recovers it rises.
// There is no timer: the request that ends after a window is over moves the limit.

import { type TimeOptions, timeOf, toDecisionClock } from "../base/clock.js";
import { SluiceError, show } from "../base/errors.js";
import { LinkedList, NO_PLACE } from "../base/linked-list.js";
import {
  type AdaptiveOptions,
  type AdaptiveSettings,
  toAdaptiveSettings,
} from "./adaptive-options.js";
import { type LimitState, limitInForce, nextState, toFirstState } from "./limit-state.js";
import { type Priority, type Rooms, toRooms } from "./priority.js";
import { RequestWindow } from "./request-window.js";

/**
 * What came of a request. Of `ok` the latency counts. `dropped` (the backend refused it), `timeout` and `error` are
 * failures, which lower the limit where they are more than a few. `abandoned`: the client stopped waiting; a failure if it
 * had waited longer than requests take at the moment. `ignored` says nothing about the backend, as where a request was
 * answered without it.
 */
export type PermitOutcome = (typeof OUTCOMES)[number];

const OUTCOMES = ["ok", "dropped", "timeout", "error", "abandoned", "ignored"] as const;
const KNOWN_OUTCOMES: ReadonlySet<unknown> = new Set(OUTCOMES);

/** Options of {@link AdaptiveConcurrency.acquire}. */
export interface AcquireOptions extends TimeOptions {
  /** How important the request is; default `"critical"`, which has the whole limit. */
  priority?: Priority;
}

/** One place among the concurrent requests, or the refusal of one. */
export interface AdaptivePermit {
  /** Whether the request may go on. If not, nothing is held. */
  readonly allowed: boolean;
  /** 0 if allowed; otherwise how long until places should be free, at least 1. */
  readonly retryAfterMs: number;
  /** Counts latency from now on: what came before took the client's time, as where it was still sending its body. */
  restart(options?: TimeOptions): void;
  /**
   * Releases the permit with the outcome of the request. A second call, or one after it has expired, does nothing.
   *
   * @throws SluiceError `SLUICE_OPTION_INVALID` if the outcome is not one. The permit is released all the same.
   */
  release(outcome: PermitOutcome, options?: TimeOptions): void;
}

/** The current state of an adaptive limit. */
export interface AdaptiveStats {
  /** The limit in force. */
  readonly limit: number;
  readonly min: number;
  readonly max: number;
  readonly inFlight: number;
  /** The mean latency of the latest window; undefined before the first. */
  readonly latencyMs: number | undefined;
  /** The mean latency of the backend without a queue; undefined before the first window. */
  readonly baselineMs: number | undefined;
  /** Requests that were admitted so far. */
  readonly admitted: number;
  /** Requests that were shed so far, by priority. */
  readonly shed: Readonly<Record<Priority, number>>;
  /** Permits that were never released and expired. */
  readonly expired: number;
}

/** A limit of concurrent requests that adapts. */
export interface AdaptiveConcurrency {
  /** The limit in force, from `min` to `max`. */
  readonly limit: number;
  /** Requests that hold a permit. */
  readonly inFlight: number;
  /**
   * A permit for one request, to be released when it has ended. Refused, with `allowed: false`, if as many requests are
   * in flight as the request's priority may fill. Never waits.
   *
   * @throws SluiceError `SLUICE_OPTION_INVALID` if the priority is not one.
   */
  acquire(options?: AcquireOptions): AdaptivePermit;
  /** Its current state. */
  stats(): AdaptiveStats;
}

/**
 * Makes a limit of concurrent requests that adapts to the backend behind it. Make one for each backend or origin.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if an option can't be used.
 */
export function adaptiveConcurrency(options: AdaptiveOptions = {}): AdaptiveConcurrency {
  return new AdaptiveLimit(toAdaptiveSettings(options));
}

/** How many times the latency of requests a window lasts at least. */
const LATENCIES_IN_WINDOW = 2;
/** The same in a probe, where only requests that began in it count: a shorter one would miss the slow requests. */
const LATENCIES_IN_PROBE = 4;

class AdaptiveLimit implements AdaptiveConcurrency {
  readonly #settings: AdaptiveSettings;
  /** For permits too. */
  readonly nowMs: () => number;
  /** The permits that are held, the oldest first. */
  readonly #held = new LinkedList<HeldPlace>();
  readonly #window: RequestWindow;
  readonly #shed: Record<Priority, number> = { critical: 0, high: 0, normal: 0, low: 0 };
  #state: LimitState;
  #rooms: Rooms;
  #limit: number;
  #admitted = 0;
  #expired = 0;

  constructor(settings: AdaptiveSettings) {
    const { clock, windowMs, initial } = settings;
    this.#settings = settings;
    this.nowMs = toDecisionClock(clock);
    const nowMs = this.nowMs();
    this.#window = new RequestWindow(nowMs, windowMs);
    this.#state = toFirstState(initial, nowMs);
    this.#limit = initial;
    this.#rooms = toRooms(initial, settings.shares);
  }

  get limit(): number {
    return this.#limit;
  }

  get inFlight(): number {
    return this.#held.size;
  }

  acquire(options?: AcquireOptions): AdaptivePermit {
    const priority = options?.priority ?? "critical";
    const room = this.#rooms[priority];
    // Not `undefined`: `rooms` has what every object has, such as `toString`.
    if (typeof room !== "number") {
      throw new SluiceError("SLUICE_OPTION_INVALID", `acquire: unknown priority ${show(priority)}`);
    }
    const nowMs = timeOf(options) ?? this.nowMs();
    if (this.#held.size >= room && !this.#expireOldest(nowMs)) return this.#refuse(priority);
    const permit = new HeldPlace(this, nowMs);
    permit.place = this.#held.add(permit);
    this.#admitted++;
    const window = this.#window;
    if (this.#held.size > window.inFlightMax) window.inFlightMax = this.#held.size;
    return permit;
  }

  stats(): AdaptiveStats {
    const { bounds } = this.#settings;
    const { latencyMs, baselineMs } = this.#state;
    return {
      limit: this.#limit,
      ...bounds,
      inFlight: this.#held.size,
      latencyMs,
      baselineMs,
      admitted: this.#admitted,
      shed: { ...this.#shed },
      expired: this.#expired,
    };
  }

  /** Takes a place back. Called once for each. */
  end(permit: HeldPlace, outcome: PermitOutcome, options: TimeOptions | undefined): void {
    const nowMs = timeOf(options) ?? this.nowMs();
    this.#held.remove(permit.place);
    permit.place = NO_PLACE;
    // Otherwise a misspelled "ok" would be a failure, and the limit would fall and fall.
    if (!KNOWN_OUTCOMES.has(outcome)) {
      throw new SluiceError("SLUICE_OPTION_INVALID", `release: unknown outcome ${show(outcome)}`);
    }
    const tookMs = nowMs - permit.countedFromMs;
    if (outcome === "ignored" || (outcome === "abandoned" && !this.#isSlow(tookMs))) return;
    const window = this.#window;
    if (outcome !== "ok") window.failures++;
    // In a probe only requests that began in it show how the backend is without a queue.
    else if (this.#state.probeShare === 1 || permit.startedAtMs >= window.startMs)
      window.addOk(tookMs);
    if (window.isOver(nowMs)) this.#move(nowMs);
  }

  /** Only slow ones count as failures: otherwise clients that disconnect could lower the limit for all others. */
  #isSlow(tookMs: number): boolean {
    const { latencyMs } = this.#state;
    return latencyMs !== undefined && tookMs > latencyMs;
  }

  #move(nowMs: number): void {
    const { algorithm, bounds, shares, windowMs } = this.#settings;
    const window = this.#window;
    // After a clock that was set back, the window says nothing.
    const isValid = nowMs >= window.startMs;
    if (isValid) this.#state = nextState(algorithm, this.#state, window, bounds, nowMs);
    const limit = limitInForce(this.#state, bounds);
    if (limit !== this.#limit) this.#rooms = toRooms(limit, shares);
    this.#limit = limit;
    const { latencyMs = 0, probeShare } = this.#state;
    const latencies = probeShare < 1 ? LATENCIES_IN_PROBE : LATENCIES_IN_WINDOW;
    window.restart(nowMs, Math.max(windowMs, latencies * latencyMs), this.#held.size);
  }

  /** Frees the place of a request that was lost, if there is one. */
  #expireOldest(nowMs: number): boolean {
    const { oldest } = this.#held;
    if (oldest === NO_PLACE) return false;
    const permit = this.#held.at(oldest);
    if (nowMs - permit.startedAtMs < this.#settings.permitMs) return false;
    this.#held.remove(oldest);
    permit.place = NO_PLACE;
    this.#expired++;
    this.#window.failures++;
    return true;
  }

  #refuse(priority: Priority): AdaptivePermit {
    this.#shed[priority]++;
    this.#window.shed++;
    const { latencyMs = this.#settings.windowMs } = this.#state;
    return new RefusedPlace(Math.max(1, Math.ceil(latencyMs)));
  }
}

class HeldPlace implements AdaptivePermit {
  readonly startedAtMs: number;
  /** From when on its latency counts. */
  countedFromMs: number;
  readonly #limit: AdaptiveLimit;
  /** In the list of those that are held. */
  place = NO_PLACE;

  constructor(limit: AdaptiveLimit, startedAtMs: number) {
    this.#limit = limit;
    this.startedAtMs = startedAtMs;
    this.countedFromMs = startedAtMs;
  }

  get allowed(): boolean {
    return true;
  }

  get retryAfterMs(): number {
    return 0;
  }

  restart(options?: TimeOptions): void {
    this.countedFromMs = timeOf(options) ?? this.#limit.nowMs();
  }

  release(outcome: PermitOutcome, options?: TimeOptions): void {
    if (this.place !== NO_PLACE) this.#limit.end(this, outcome, options);
  }
}

class RefusedPlace implements AdaptivePermit {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    this.retryAfterMs = retryAfterMs;
  }

  get allowed(): boolean {
    return false;
  }

  restart(): void {}

  release(): void {}
}
