// Deposits in the memory of this process: for tests, simulations and several regions in one process. The twin of
// stores/redis/lua/deposits, which answer alike.

import { BoundedMap } from "../../base/bounded-map.js";
import {
  ASKS_WARM,
  CLAIM_MS,
  DEMAND_MS,
  DEPOSIT_GRACE_MS,
  DEPOSITS_MAX,
  type Deposit,
  type DepositAnswer,
  type DepositAsk,
  type DepositPart,
  type DepositPlace,
  type DepositStore,
  type Withdrawal,
} from "../deposit-store.js";

interface HeldDeposit {
  readonly id: string;
  left: number;
  writtenAtMs: number;
  readonly expiresAtMs: number;
}

interface DepositState {
  resetAtMs: number;
  claimedUntilMs: number;
  sinceMs: number;
  asks: number;
  asked: number;
  lowAt: number;
  renewAtMs: number;
  takenAtMs: number;
  deposits: HeldDeposit[];
}

/** Beyond so many keys the oldest are forgotten: their units stay spent. */
const KEYS_MAX = 100_000;

/** Deposits of all limits and keys. */
export class MemoryDeposits implements DepositStore {
  readonly #states = new BoundedMap<string, DepositState>(KEYS_MAX);
  readonly #blockedMs: (scope: string, key: string, nowMs: number) => number;

  /** @param blockedMs - How long a key is still blocked; 0 if it is not. */
  constructor(blockedMs: (scope: string, key: string, nowMs: number) => number) {
    this.#blockedMs = blockedMs;
  }

  take(ask: DepositAsk): DepositAnswer {
    const { place, units, lifeMsMin, isNew, nowMs } = ask;
    const blockedMs = this.#blockedMs(place.scope, place.key, ask.blockNowMs);
    const known = this.#states.get(nameOf(place));
    const state = known ?? newState(nowMs);
    if (endLater(state, nowMs)) this.#keep(place, state, nowMs);
    if (blockedMs > 0) return toAnswer(state, { nowMs, blockedMs, parts: [], isDue: false });
    const usable = state.deposits.filter(
      (deposit) => isLive(deposit, nowMs) && deposit.expiresAtMs > nowMs + lifeMsMin,
    );
    const isCovered = units > 0 && sum(usable) >= units;
    const parts = isCovered ? takeFrom(usable, units) : [];
    if (isCovered) state.takenAtMs = nowMs;
    if (isNew) noteDemand(state, units, nowMs);
    const isDue = isNew && mayClaim(state, isCovered, nowMs);
    if (isDue) state.claimedUntilMs = nowMs + CLAIM_MS;
    if (isCovered || isNew) this.#keep(place, state, nowMs);
    return toAnswer(state, { nowMs, blockedMs, parts, isDue });
  }

  deposit({ place, id, units, expiresAtMs, lifeMsMax, resetAtMs, nowMs }: Deposit): boolean {
    const endMs = Math.min(expiresAtMs, nowMs + lifeMsMax);
    if (endMs <= nowMs) return false;
    const state = this.#states.get(nameOf(place)) ?? newState(nowMs);
    state.deposits.push({ id, left: units, writtenAtMs: nowMs, expiresAtMs: endMs });
    state.deposits.sort(byExpiry);
    if (state.deposits.length > DEPOSITS_MAX) state.deposits.shift();
    state.resetAtMs = resetAtMs;
    state.claimedUntilMs = 0;
    state.lowAt = Math.ceil(units / 2);
    state.renewAtMs = endMs - Math.floor((endMs - nowMs) / 2);
    state.takenAtMs = nowMs;
    this.#keep(place, state, nowMs);
    return true;
  }

  restore(place: DepositPlace, parts: readonly DepositPart[], nowMs: number): void {
    const state = this.#states.get(nameOf(place));
    if (state === undefined) return;
    for (const { id, units } of parts) {
      const deposit = state.deposits.find((each) => each.id === id);
      if (deposit === undefined) continue;
      deposit.left += units;
      state.asked = Math.max(0, state.asked - units);
    }
    this.#keep(place, state, nowMs);
  }

  withdraw({ place, id, idleMsMin, nowMs }: Withdrawal): number | undefined {
    const state = this.#states.get(nameOf(place));
    if (state === undefined) return 0;
    const isAsked = (deposit: HeldDeposit) => id === undefined || deposit.id === id;
    const asked = state.deposits.filter(isAsked);
    if (asked.length === 0) return 0;
    if (idleMsMin > 0 && nowMs - state.takenAtMs < idleMsMin) return undefined;
    state.deposits = state.deposits.filter((deposit) => !isAsked(deposit));
    this.#keep(place, state, nowMs);
    return sum(asked);
  }

  /** Keeps a state, without what is long gone. */
  #keep(place: DepositPlace, state: DepositState, nowMs: number): void {
    state.deposits = state.deposits.filter(
      ({ expiresAtMs }) => expiresAtMs + DEPOSIT_GRACE_MS > nowMs,
    );
    this.#states.set(nameOf(place), state);
  }
}

function nameOf({ scope, part, version, key }: DepositPlace): string {
  return JSON.stringify([scope, part, version, key]);
}

function newState(nowMs: number): DepositState {
  return {
    resetAtMs: 0,
    claimedUntilMs: 0,
    sinceMs: nowMs,
    asks: 0,
    asked: 0,
    lowAt: 0,
    renewAtMs: 0,
    takenAtMs: 0,
    deposits: [],
  };
}

/** Not before it was written either: a clock that stepped back must not make it longer. */
function isLive({ writtenAtMs, expiresAtMs }: HeldDeposit, nowMs: number): boolean {
  return nowMs >= writtenAtMs && nowMs < expiresAtMs;
}

/**
 * Ends what was written later, after the clock stepped back: when it is there again, the lease has long ended at home.
 * Returns whether there was any.
 */
function endLater({ deposits }: DepositState, nowMs: number): boolean {
  const later = deposits.filter(({ writtenAtMs }) => nowMs < writtenAtMs);
  for (const deposit of later) deposit.writtenAtMs = Number.POSITIVE_INFINITY;
  return later.length > 0;
}

/** All of the units are there. Those that expire first come first. */
function takeFrom(deposits: readonly HeldDeposit[], units: number): readonly DepositPart[] {
  const parts: DepositPart[] = [];
  let missing = units;
  for (const deposit of deposits) {
    const taken = Math.min(missing, deposit.left);
    if (taken === 0) continue;
    deposit.left -= taken;
    missing -= taken;
    parts.push({ id: deposit.id, units: taken });
  }
  return parts;
}

/** The older half of what is remembered fades every so often; after a pause nothing of it counts. */
function noteDemand(state: DepositState, units: number, nowMs: number): void {
  const ageMs = nowMs - state.sinceMs;
  if (ageMs >= 2 * DEMAND_MS || ageMs < 0) {
    state.sinceMs = nowMs;
    state.asks = 0;
    state.asked = 0;
  } else if (ageMs >= DEMAND_MS) {
    state.sinceMs += Math.floor(ageMs / 2);
    state.asks = Math.floor(state.asks / 2);
    state.asked = Math.floor(state.asked / 2);
  }
  state.asks++;
  state.asked += units;
}

function mayClaim(state: DepositState, isCovered: boolean, nowMs: number): boolean {
  const { asks, claimedUntilMs, lowAt, renewAtMs } = state;
  if (asks < ASKS_WARM) return false;
  if (nowMs < claimedUntilMs && claimedUntilMs <= nowMs + CLAIM_MS) return false;
  return !isCovered || liveUnits(state, nowMs) < lowAt || nowMs >= renewAtMs;
}

function liveUnits({ deposits }: DepositState, nowMs: number): number {
  return sum(deposits.filter((deposit) => isLive(deposit, nowMs)));
}

function sum(deposits: readonly HeldDeposit[]): number {
  return deposits.reduce((units, { left }) => units + left, 0);
}

function byExpiry(a: HeldDeposit, b: HeldDeposit): number {
  return a.expiresAtMs - b.expiresAtMs;
}

function toAnswer(
  state: DepositState,
  found: Pick<DepositAnswer, "nowMs" | "blockedMs" | "parts" | "isDue">,
): DepositAnswer {
  const { nowMs, parts } = found;
  return {
    ...found,
    isCovered: parts.length > 0,
    left: liveUnits(state, nowMs),
    resetMs: Math.max(0, state.resetAtMs - nowMs),
    demand: { asks: state.asks, units: state.asked, inMs: Math.max(0, nowMs - state.sinceMs) },
  };
}
