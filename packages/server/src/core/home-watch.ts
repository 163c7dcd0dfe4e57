// Logs in every process that another region has become home, whether an operator promoted it through another node or
// the arbiter replaced a lost one.

import type { HomeControl } from "sluice/rules";
import type { CancelTimer, every } from "../base/clock.js";

/** A promotion is rare, and nothing waits for its line. */
const LOOK_EVERY_MS = 1_000;

/** What the watch needs. */
export interface HomeWatchParts {
  readonly log: { warn(fields: object, text: string): void };
  readonly every: typeof every;
}

/** Logs each promotion that this process learns of. Returns how to stop it. */
export function logPromotions(
  control: Pick<HomeControl, "stats">,
  { log, every }: HomeWatchParts,
): CancelTimer {
  let last = control.stats;
  return every(LOOK_EVERY_MS, () => {
    const now = control.stats;
    if (now === undefined) return;
    if (last !== undefined && now.epoch > last.epoch) {
      const { home, epoch } = now;
      log.warn({ home, epoch, from: last.home }, `region ${home} is home now`);
    }
    last = now;
  });
}
