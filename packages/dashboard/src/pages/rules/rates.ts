// The rates of rules, each second, from the live stream, with what they were before.

import { useEffect, useState } from "preact/hooks";
import type { LiveFleet, LiveTick } from "sluice-server/api";
import { openLive } from "../../api/live-stream.js";
import { useSession } from "../../api/session.js";
import { lately, noteRates, type RateHistory, rateHistoryOf } from "./rate-histories.js";

/** What is known of each rule. */
export interface Rates {
  /** The latest second; undefined until there is one. */
  readonly tick: LiveTick | undefined;
  of(rule: string): RateHistory | undefined;
  /** Requests per second over the last seconds; 0 if none. */
  lately(rule: string, of: "allowed" | "refused" | "shadowed"): number;
}

/** Reads the rates of all rules, each second. */
export function useRates(): Rates {
  const session = useSession();
  const [tick, setTick] = useState<LiveTick | undefined>(undefined);
  useEffect(
    () =>
      openLive(
        { showsKeys: false, hasAllRules: true },
        {
          onBegin: () => {},
          onTick: (next) => {
            noteRates(next);
            setTick(next);
          },
          // Rates stay as they were; what else the page asks says what is wrong.
          onLost: () => {},
        },
      ),
    // A stream ends with its session; the next login opens it again.
    [session],
  );
  return { tick, of: rateHistoryOf, lately };
}

/** ` on this node`, or on how many; empty until it is known. */
export function sayWhere(fleet: LiveFleet | undefined): string {
  if (fleet === undefined) return "";
  return fleet.reporting < 2 ? " on this node" : ` on ${fleet.reporting} nodes together`;
}
