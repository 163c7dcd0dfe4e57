// What metrics say of a node of the control plane.

import type { ControlFigures } from "../telemetry/reported.js";
import type { FeedServer } from "./feed/feed-server.js";
import type { ControlState } from "./state/state.js";

/** What figures are read from: a node. */
interface FiguresSource {
  readonly state: ControlState;
  readonly ageMs: number;
  /** Undefined if the node is a follower. */
  readonly feedServer: FeedServer | undefined;
}

/** The figures of a node. @param changes - Applied since the start. @param problems - Seen since the start. */
export function toFigures(
  { state: { sequence }, ageMs, feedServer }: FiguresSource,
  changes: number,
  problems: ControlFigures["problems"],
): ControlFigures {
  const followers = feedServer?.streams.list();
  const behind = followers?.map((each) => Math.max(0, sequence - each.sequence));
  return {
    sequence,
    ageMs,
    followers: followers?.length,
    followersBehind: behind?.reduce((most, each) => Math.max(most, each), 0),
    changes,
    problems: { ...problems },
  };
}
