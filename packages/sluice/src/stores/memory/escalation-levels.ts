// What a memory store knows of keys that were refused: refusals that are being counted, and levels. They are bounded
// separately, so that a flood of keys that are refused once can't push out the level of a caller that was blocked.

import {
  countRefusals,
  type EscalationState,
  type EscalationStep,
} from "../../algorithms/escalation.js";
import { BoundedMap } from "../../base/bounded-map.js";
import type { RefusalReport } from "../refusal-reports.js";

/** Refusals and levels by the fingerprint of scope and key. */
export class EscalationLevels {
  readonly #counted: BoundedMap<number, EscalationState>;
  readonly #raised: BoundedMap<number, EscalationState>;

  /** @param keysMax - The most keys of each kind; beyond it the one that was reported longest ago is forgotten. */
  constructor(keysMax: number) {
    this.#counted = new BoundedMap(keysMax);
    this.#raised = new BoundedMap(keysMax);
  }

  count(low: number, high: number, report: RefusalReport): EscalationStep {
    const print = toPrint(low, high);
    const before = this.#raised.get(print) ?? this.#counted.get(print);
    const step = countRefusals(before, report.terms, report, report.nowMs);
    const isRaised = step.state.level > 0;
    (isRaised ? this.#counted : this.#raised).delete(print);
    (isRaised ? this.#raised : this.#counted).set(print, step.state);
    return step;
  }

  forget(low: number, high: number): void {
    const print = toPrint(low, high);
    this.#raised.delete(print);
    this.#counted.delete(print);
  }
}

/** 53 bits, which a Map takes as a number. */
function toPrint(low: number, high: number): number {
  return (high >>> 0) * 2 ** 21 + (low >>> 11);
}
