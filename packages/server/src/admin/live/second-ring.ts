// The last minutes of one follower, second by second, in one small array: a control node may have thousands of them.

import type { OutcomeCounts } from "../../telemetry/tally/outcome-counts.js";
import type { LiveSecond } from "../../telemetry/tally/second-history.js";
import { HISTORY_SECONDS_MAX } from "../../telemetry/tally/second-history.js";

const SECOND_MS = 1_000;
/** The numbers of a second: when it began, and four counts. */
const FIELDS = 5;

/** What was counted in each of the last seconds. */
export class SecondRing {
  readonly #slots = new Uint32Array(HISTORY_SECONDS_MAX * FIELDS);
  #last = 0;

  /** Counts what happened in a second. */
  add({ atMs, ...counts }: LiveSecond): void {
    this.#put(Math.floor(atMs / SECOND_MS), counts);
  }

  /** The same of a second that follows the last one, though reports may come a little early or late. */
  addNext({ atMs, ...counts }: LiveSecond): void {
    const [second, next] = [Math.floor(atMs / SECOND_MS), this.#last + 1];
    this.#put(Math.abs(second - next) <= 1 ? next : second, counts);
  }

  /** The seconds that have any decisions, the oldest first. */
  read(nowMs: number): LiveSecond[] {
    const fromSecond = nowMs / SECOND_MS - HISTORY_SECONDS_MAX;
    const seconds: LiveSecond[] = [];
    for (let at = 0; at < this.#slots.length; at += FIELDS) {
      const [second, allowed, delayed, blocked, shadowBlocked] = this.#slots.subarray(at);
      if (second < fromSecond) continue;
      seconds.push({ atMs: second * SECOND_MS, allowed, delayed, blocked, shadowBlocked });
    }
    return seconds.sort((a, b) => a.atMs - b.atMs);
  }

  #put(second: number, { allowed, delayed, blocked, shadowBlocked }: OutcomeCounts): void {
    const at = (second % HISTORY_SECONDS_MAX) * FIELDS;
    const slot = this.#slots.subarray(at, at + FIELDS);
    if (slot[0] !== second) slot.fill(0);
    slot[0] = second;
    slot[1] += allowed;
    slot[2] += delayed;
    slot[3] += blocked;
    slot[4] += shadowBlocked;
    this.#last = Math.max(this.#last, second);
  }
}
