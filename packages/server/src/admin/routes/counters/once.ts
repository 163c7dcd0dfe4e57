// Acts that came with an Idempotency-Key, such as those on counters, are done once: a request that is sent again gets the answer of the
// first. This process remembers the latest; on control nodes the database remembers those of all of them.

import { BoundedMap, SluiceError } from "sluice";
import { ServerError } from "../../../base/errors.js";
import {
  ACT_KEPT_MS,
  type KeyedActs,
  type KeyedChange,
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
   * fails is forgotten, so that it can be tried again; not so if it may have been done, and may not be done twice.
   *
   * @param shared - The acts of all control nodes; undefined on a node without a database.
   * @param mayRepeat - Whether doing it twice is the same as doing it once.
   * @throws ServerError `SLUICE_KEY_REUSED` if the key came with another request, `SLUICE_IN_FLIGHT` if another node
   *   has begun the act and has not said what came of it, `SLUICE_OUTCOME_UNKNOWN` if that can't be found out, or what
   *   `act` throws.
   */
  do<T extends object>(
    keyed: KeyedChange,
    shared: KeyedActs | undefined,
    act: () => Promise<T>,
    { mayRepeat = true }: { readonly mayRepeat?: boolean } = {},
  ): Promise<T> {
    const { owner, request } = keyed;
    const known = this.#acts.get(owner);
    if (known !== undefined && known.untilMs > this.#nowMs()) {
      // The same request is of the same route.
      return known.request === request ? (known.acted as Promise<T>) : Promise.reject(reused());
    }
    const isOver = (error: unknown) => mayRepeat || isNotDone(error);
    const acted = shared === undefined ? act() : actIfClaimed(keyed, { shared, act, isOver });
    const remembered = { request, untilMs: this.#nowMs() + ACT_KEPT_MS, acted };
    this.#acts.set(owner, remembered);
    acted.catch((error) => {
      if (this.#acts.get(owner) !== remembered) return;
      if (isOver(error)) this.#acts.delete(owner);
      else this.#acts.set(owner, { ...remembered, acted: rejected(unknownOutcome()) });
    });
    return acted;
  }
}

/** Whether an error says that nothing was done: what was asked for was wrong, or it could not be claimed. */
function isNotDone(error: unknown): boolean {
  const isOurs = error instanceof ServerError || error instanceof SluiceError;
  return isOurs && (error.status < 500 || error.code === "SLUICE_DATABASE_UNAVAILABLE");
}

function rejected(error: Error): Promise<never> {
  const promise = Promise.reject(error);
  promise.catch(() => {});
  return promise;
}

interface ClaimingAct<T> {
  readonly shared: KeyedActs;
  readonly act: () => Promise<T>;
  /** Whether an act that failed can be tried again. */
  readonly isOver: (error: unknown) => boolean;
}

async function actIfClaimed<T extends object>(
  keyed: KeyedChange,
  { shared, act, isOver }: ClaimingAct<T>,
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
    // If it can't be released, other nodes forget it after a day, as if this one had stopped.
    if (isOver(error)) await shared.release(keyed).catch(() => {});
    throw error;
  }
}

function reused(): ServerError {
  return new ServerError("SLUICE_KEY_REUSED", "send another key with it");
}

function unknownOutcome(): ServerError {
  const how =
    "the store failed and may have made the refund; check the counter, and send another Idempotency-Key to refund again";
  return new ServerError("SLUICE_OUTCOME_UNKNOWN", how);
}

function inFlight(): ServerError {
  const how = "send it again later; if its node has stopped, GET /v1/audit has what was done";
  return new ServerError("SLUICE_IN_FLIGHT", how);
}
