// What requests under way have reserved under rules with `escalate` and `when`. A request that is refused only because
// others of its key have not been answered yet says nothing about the caller: twenty slow logins of one office are not
// twenty failed ones.

import { BoundedMap } from "../../../base/bounded-map.js";

/** The most keys; beyond it those that reserved longest ago are forgotten, and their refusals count. */
const KEYS_MAX = 20_000;
/**
 * How long a reservation may excuse refusals. No login takes longer, and a caller that keeps one open on purpose gains no
 * more than this.
 */
export const EXCUSED_MS_MAX = 60_000;

/** What one key has reserved. */
interface Reserved {
  readonly units: number;
  /** When it last reserved something. */
  readonly latestMs: number;
}

/** What requests of this process have reserved and not yet settled, by rule and key. */
export class OpenReservations {
  readonly #byKey = new BoundedMap<string, Reserved>(KEYS_MAX);

  /** Keys with reservations. */
  get keys(): number {
    return this.#byKey.size;
  }

  /** A request has reserved units. */
  add(rule: string, key: string, units: number, nowMs: number): void {
    const reserved = this.unitsOf(rule, key, nowMs) + units;
    this.#byKey.set(nameOf(rule, key), { units: reserved, latestMs: nowMs });
  }

  /** A request has ended: what it reserved is charged or refunded. */
  remove(rule: string, key: string, units: number): void {
    const name = nameOf(rule, key);
    const known = this.#byKey.get(name);
    if (known === undefined) return;
    const left = known.units - units;
    if (left > 0) this.#byKey.set(name, { units: left, latestMs: known.latestMs });
    else this.#byKey.delete(name);
  }

  /** What a key has reserved under a rule. */
  unitsOf(rule: string, key: string, nowMs: number): number {
    const known = this.#byKey.get(nameOf(rule, key));
    return known === undefined || nowMs - known.latestMs >= EXCUSED_MS_MAX ? 0 : known.units;
  }
}

// Ids of rules have no line breaks, so no two names are alike.
function nameOf(rule: string, key: string): string {
  return `${rule}\n${key}`;
}
