// What a decision out of a region's deposits has to present to be undone.

import type { DepositPart, DepositPlace } from "../../deposit-store.js";
import type { Charge, ChargeReceipt } from "../../store.js";

/** Units that a decision took from its region's deposits, and what the home region added: presented once. */
export class RegionProof {
  readonly place: DepositPlace;
  readonly home: ChargeReceipt | undefined;
  readonly #parts: readonly DepositPart[];
  #isOpen = true;

  constructor(place: DepositPlace, parts: readonly DepositPart[], home: ChargeReceipt | undefined) {
    this.place = place;
    this.#parts = parts;
    this.home = home;
  }

  /** Whether it was open. */
  close(): boolean {
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    return wasOpen;
  }

  /** Where so many units return to: home first, then the deposit that lives longest. */
  back(units: number): { ofHome: number; parts: readonly DepositPart[] } {
    const ofHome = Math.min(units, this.home?.cost ?? 0);
    let left = units - ofHome;
    const parts: DepositPart[] = [];
    for (const part of this.#parts.toReversed()) {
      const back = Math.min(left, part.units);
      if (back > 0) parts.push({ id: part.id, units: back });
      left -= back;
    }
    return { ofHome, parts };
  }
}

/** The receipt of a charge. */
export function toReceipt({ counter, key, cost }: Charge, proof: RegionProof): ChargeReceipt {
  return { counter, key, cost, proof };
}
