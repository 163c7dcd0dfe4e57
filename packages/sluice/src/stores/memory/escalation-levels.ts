// What a memory store knows of keys that were refused: refusals that are being counted, and levels. They are bounded
// separately, so that a flood of keys that are refused once can't push out the level of a caller that was blocked.

import {
  countRefusals,
  type EscalationState,
  type EscalationStep,
} from "../../algorithms/escalation.js";
import { BoundedMap } from "../../base/bounded-map.js";
import type { RefusalReport } from "../refusal-reports.js";
import { RaisedLevels } from "./raised-levels.js";

/** Refusals and levels by the fingerprint of scope and key. */
export class EscalationLevels {
  readonly #keysMax: number;
  readonly #counted: BoundedMap<number, EscalationState>;
  /** Undefined until a level is raised. */
  #raised: RaisedLevels | undefined;

  /**
   * @param keysMax - The most keys of each kind. Beyond it, of those that have no level the one that was reported longest ago
   *   is forgotten, and of the others one with a low level.
   */
  constructor(keysMax: number) {
    this.#keysMax = keysMax;
    this.#counted = new BoundedMap(keysMax);
  }

  /** Memory that is set aside for levels. */
  get bytes(): number {
    return this.#raised?.bytes ?? 0;
  }

  count(low: number, high: number, report: RefusalReport): EscalationStep {
    const print = toPrint(low, high);
    const before = this.#raised?.get(low, high) ?? this.#counted.get(print);
    const step = countRefusals(before, report.terms, report, report.nowMs);
    if (step.state.level > 0) {
      this.#counted.delete(print);
      this.#raised ??= new RaisedLevels(this.#keysMax);
      this.#raised.set(low, high, step.state, report);
    } else {
      this.#raised?.delete(low, high);
      this.#counted.set(print, step.state);
    }
    return step;
  }

  forget(low: number, high: number): void {
    this.#raised?.delete(low, high);
    this.#counted.delete(toPrint(low, high));
  }
}

/** 53 bits, which a Map takes as a number. */
function toPrint(low: number, high: number): number {
  return (high >>> 0) * 2 ** 21 + (low >>> 11);
}
