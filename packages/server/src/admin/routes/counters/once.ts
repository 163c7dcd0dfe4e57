// Acts that came with an Idempotency-Key, such as those on counters, are done once: a request that is sent again gets the answer of the
// first. This process remembers the latest; on control nodes the database remembers those of all of them.

import { BoundedMap } from "sluice";
import { ServerError } from "../../../base/errors.js";
import {
  ACT_KEPT_MS,
  type KeyedActs,
  type KeyedRequest,
} from "../../../control/changes/keyed-acts.js";

/** The most acts that are remembered; beyond it the oldest is forgotten. */
const ACTS_MAX = 10_000;

interface RememberedAct {
  readonly request: string;
  readonly untilMs: number;
  readonly acted: Promise<unknown>;
}

/** Does acts once. */
export class ActsOnce {
  readonly #nowMs: () => number;
  readonly #acts = new BoundedMap<string, RememberedAct>(ACTS_MAX);

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Does an act, or returns what the same request did before; while that is under way, both wait for it. An act that
   * fails is forgotten, so that it can be tried again.
   *
   * @param shared - The acts of all control nodes; undefined on a node without a database.
   * @throws ServerError `SLUICE_KEY_REUSED` if the key came with another request, `SLUICE_IN_FLIGHT` if another node
   *   has begun the act and has not said what came of it, or what `act` throws.
   */
  do<T extends object>(
    keyed: KeyedRequest,
    shared: KeyedActs | undefined,
    act: () => Promise<T>,
  ): Promise<T> {
    const { owner, request } = keyed;
    const known = this.#acts.get(owner);
    if (known !== undefined && known.untilMs > this.#nowMs()) {
      // The same request is of the same route.
      return known.request === request ? (known.acted as Promise<T>) : Promise.reject(reused());
    }
    const acted = shared === undefined ? act() : actIfClaimed(keyed, shared, act);
    const remembered = { request, untilMs: this.#nowMs() + ACT_KEPT_MS, acted };
    this.#acts.set(owner, remembered);
    acted.catch(() => {
      if (this.#acts.get(owner) === remembered) this.#acts.delete(owner);
    });
    return acted;
  }
}

async function actIfClaimed<T extends object>(
  keyed: KeyedRequest,
  shared: KeyedActs,
  act: () => Promise<T>,
): Promise<T> {
  const claimed = await shared.claim(keyed);
  if (claimed !== undefined) {
    if (claimed.request !== keyed.request) throw reused();
    if (claimed.answer === undefined) throw inFlight();
    return claimed.answer as T;
  }
  try {
    return await act();
  } catch (error) {
    // If it can't be released it is forgotten after a day, as if its node had stopped.
    await shared.release(keyed).catch(() => {});
    throw error;
  }
}

function reused(): ServerError {
  return new ServerError("SLUICE_KEY_REUSED", "send another key with it");
}

function inFlight(): ServerError {
  const how = "send it again later; if its node has stopped, GET /v1/audit has what was done";
  return new ServerError("SLUICE_IN_FLIGHT", how);
}
