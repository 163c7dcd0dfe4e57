// A follower of this control node, as open pages see it: what it did in the last second that it has reported, and what
// pages that are opened later are shown first.

import { readMs, wallMs } from "../../base/clock.js";
import type { NodeLive, NodeRefusal, NodeSecond } from "../../telemetry/live/node-second.js";
import { HISTORY_SECONDS_MAX } from "../../telemetry/tally/second-history.js";
import { addSeconds, secondsOf, toOneSecond } from "./merge-nodes.js";
import { SecondRing } from "./second-ring.js";

/** Refusals that are kept for pages that are opened later. */
const REFUSALS_MAX = 20;
const SECOND_MS = 1_000;

/** A refusal, and when its report came, by the clock of this node. */
export interface ReceivedRefusal {
  readonly refusal: NodeRefusal;
  readonly receivedMs: number;
}

/** What is known of a follower. */
export class FleetNode {
  readonly name: string;
  /** When it was last asked, by the monotonic clock. */
  askedMs: number;
  isConnected = true;
  readonly #firstAskedMs: number;
  #reportedMs: number | undefined;
  #second: NodeSecond | undefined;
  #fresh: readonly ReceivedRefusal[] = [];
  #recent: readonly ReceivedRefusal[] = [];
  #past: SecondRing | undefined;
  #isFresh = false;

  constructor(name: string, askedMs: number) {
    this.name = name;
    this.askedMs = askedMs;
    this.#firstAskedMs = askedMs;
  }

  /** How old its numbers are; null if it has not reported. */
  get ageMs(): number | null {
    return this.#reportedMs === undefined ? null : readMs() - this.#reportedMs;
  }

  /** How long nothing was heard of it. */
  get silentMs(): number {
    return readMs() - (this.#reportedMs ?? this.#firstAskedMs);
  }

  /** What it did in the last second that it has reported. */
  get second(): NodeSecond | undefined {
    return this.#second;
  }

  /** Refusals that no tick has shown, and the latest in all; the newest first. */
  get fresh(): readonly ReceivedRefusal[] {
    return this.#fresh;
  }
  get recent(): readonly ReceivedRefusal[] {
    return this.#recent;
  }

  /** Its last minutes; undefined until it has reported them. */
  get past(): SecondRing | undefined {
    return this.#past;
  }

  /** Takes a report. */
  take({ past, ...second }: NodeLive): void {
    const receivedMs = wallMs();
    this.#reportedMs = readMs();
    const refusals = second.refusals.map((refusal) => ({ refusal, receivedMs }));
    if (past !== undefined) this.#begin(past, receivedMs);
    // The first report has those of the last minutes.
    else this.#fresh = [...refusals, ...this.#fresh].slice(0, REFUSALS_MAX);
    this.#recent = [...refusals, ...this.#recent].slice(0, REFUSALS_MAX);
    const counted = toOneSecond(second);
    // One that was late may come together with the one that is in time.
    const isOther = this.#isFresh && this.#second !== undefined;
    this.#second = isOther && this.#second ? addSeconds(this.#second, counted) : counted;
    this.#isFresh = true;
    if (past !== undefined) return;
    // A node may claim to have read nothing for a day: no more seconds than are kept.
    for (let ago = Math.min(secondsOf(second), HISTORY_SECONDS_MAX); ago > 0; ago--)
      this.#past?.addNext({ ...counted, atMs: receivedMs - ago * SECOND_MS });
  }

  /** A tick has shown what was reported. */
  markShown(): void {
    this.#isFresh = false;
    this.#fresh = [];
  }

  #begin(past: NonNullable<NodeLive["past"]>, nowMs: number): void {
    this.#past = new SecondRing();
    this.#recent = [];
    for (const [age, allowed, delayed, blocked, shadowBlocked] of past) {
      if (age > HISTORY_SECONDS_MAX) continue;
      this.#past.add({ atMs: nowMs - age * SECOND_MS, allowed, delayed, blocked, shadowBlocked });
    }
  }
}
