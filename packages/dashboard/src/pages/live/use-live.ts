// The live stream as the state of the page. While it is paused the page keeps what it shows, and the stream continues:
// what came meanwhile is there when the page is resumed.

import { useEffect, useReducer, useState } from "preact/hooks";
import type { LiveFleet, LiveRefusal, LiveTick } from "sluice-server/api";
import type { ApiError } from "../../api/client.js";
import { openLive } from "../../api/live-stream.js";
import { useSeesKeys, useSession } from "../../api/session.js";
import { noteRates } from "../rules/rate-histories.js";
import { addSecond, type LiveHistory, NO_HISTORY, toHistory } from "./history.js";

/** Of more rules, a second has the busiest. */
const LISTED_RULES_MAX = 50;
/** The newest refusals that are listed. */
const REFUSALS_MAX = 20;

/** What the page knows. */
export interface LiveState {
  readonly connection: "connecting" | "open" | "lost";
  readonly error: ApiError | undefined;
  readonly history: LiveHistory;
  /** Undefined until the first one. */
  readonly tick: LiveTick | undefined;
  readonly refusals: readonly LiveRefusal[];
  /** Which nodes there are; kept when another one is picked. */
  readonly fleet: LiveFleet | undefined;
}

const START: LiveState = {
  connection: "connecting",
  error: undefined,
  history: NO_HISTORY,
  tick: undefined,
  refusals: [],
  fleet: undefined,
};

type Step =
  | { readonly kind: "connect" }
  | { readonly kind: "begin"; readonly history: LiveHistory; readonly refusals: LiveRefusal[] }
  | { readonly kind: "tick"; readonly tick: LiveTick }
  | { readonly kind: "lost"; readonly error: ApiError | undefined };

/** What happens, and how to stop and continue. @param node - Undefined: on all nodes. */
export function useLive(node: string | undefined) {
  const session = useSession();
  const seesKeys = useSeesKeys();
  const [state, take] = useReducer(next, START);
  const [paused, setPaused] = useState<LiveState | undefined>(undefined);
  useEffect(() => {
    take({ kind: "connect" });
    setPaused(undefined);
    return openLive(
      { showsKeys: seesKeys, node },
      {
        onBegin: ({ seconds, refusals }) =>
          take({ kind: "begin", history: toHistory(seconds), refusals: [...refusals] }),
        onTick: (tick) => {
          // The page Rules shows what the rates were. Of one node, or of the busiest rules alone, it would be wrong.
          if (node === undefined && tick.rules.length < LISTED_RULES_MAX) noteRates(tick);
          take({ kind: "tick", tick });
        },
        onLost: (error) => take({ kind: "lost", error }),
      },
    );
    // A stream ends with its session; the next login opens it again.
  }, [session, seesKeys, node]);
  return {
    live: paused ?? state,
    isPaused: paused !== undefined,
    togglePause: () => setPaused(paused === undefined ? state : undefined),
  };
}

function next(state: LiveState, step: Step): LiveState {
  switch (step.kind) {
    // The numbers of another node would be taken for those of this one.
    case "connect":
      return { ...START, fleet: state.fleet };
    case "begin":
      return {
        ...state,
        connection: "open",
        error: undefined,
        history: step.history,
        refusals: step.refusals,
      };
    case "tick":
      return {
        ...state,
        connection: "open",
        tick: step.tick,
        fleet: step.tick.fleet,
        history: addSecond(state.history, step.tick),
        refusals: [...step.tick.refusals, ...state.refusals].slice(0, REFUSALS_MAX),
      };
    case "lost":
      return { ...state, connection: "lost", error: step.error };
  }
}
