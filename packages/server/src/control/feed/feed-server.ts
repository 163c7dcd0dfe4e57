// What a control node answers its followers: snapshots, the stream of changes, and their reports. The admin port mounts
// it at /v1/control.

import type { ServerResponse } from "node:http";
import { after } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { StoreUses } from "../keys/key-uses.js";
import type { ChangeHub } from "./change-hub.js";
import { FOLLOWERS_MAX, type FollowerReport, FollowerStreams } from "./follower-streams.js";

/** Snapshots that are sent at a time; a follower beyond that comes back a moment later. */
const SNAPSHOTS_MAX = 100;
/** How long a follower may take for one piece of a snapshot. */
const PIECE_MS_MAX = 30_000;

/** What a follower asks the stream for. */
export interface StreamQuery {
  /** The last change that it has. */
  readonly after: number;
  /** Of that change; empty if it is not known. */
  readonly hash: string;
  readonly node: string;
  readonly version: string;
}

/** What a follower reports: what it has applied, and the hours in which keys were used there, by their ids. */
export interface NodeReport extends FollowerReport {
  readonly uses?: Readonly<Record<string, number>> | undefined;
}

/** Serves followers. */
export class FeedServer {
  readonly streams: FollowerStreams;
  readonly #hub: ChangeHub;
  readonly #storeUses: StoreUses;
  #snapshots = 0;

  constructor(hub: ChangeHub, storeUses: StoreUses) {
    this.#hub = hub;
    this.#storeUses = storeUses;
    this.streams = new FollowerStreams(hub);
  }

  /** Sends a snapshot, as fast as the follower reads it. @throws ServerError if too many are sent already. */
  snapshotStream(): (response: ServerResponse) => void {
    if (this.#snapshots >= SNAPSHOTS_MAX) throw busy(`${SNAPSHOTS_MAX} snapshots are being sent`);
    return (response) => {
      this.#snapshots++;
      void this.#sendSnapshot(response)
        .catch(() => response.destroy())
        .finally(() => {
          this.#snapshots--;
        });
    };
  }

  /** Sends changes for as long as the follower listens. @throws ServerError if there are too many followers. */
  changesStream(query: StreamQuery): (response: ServerResponse) => void {
    if (this.streams.count >= FOLLOWERS_MAX) throw busy(`there are ${FOLLOWERS_MAX} followers`);
    const { after: sequence, hash, node, version } = query;
    return (response) => {
      // Small lines go out when they are written.
      response.socket?.setNoDelay(true);
      this.streams.add(response, { sequence, hash }, { node, version, sequence });
    };
  }

  /** Takes what a follower reports. @throws ServerError of the database, which then has none of the uses. */
  async report({ uses, ...applied }: NodeReport): Promise<void> {
    this.streams.report(applied);
    if (uses !== undefined) await this.#storeUses(new Map(Object.entries(uses)));
  }

  /** Ends all streams. */
  close(): void {
    this.streams.close();
  }

  async #sendSnapshot(response: ServerResponse): Promise<void> {
    for (const piece of await this.#hub.snapshot()) {
      if (response.write(piece)) continue;
      if (!(await untilDrained(response))) return;
    }
    response.end();
  }
}

/** False if it took too long, or the follower is gone. */
function untilDrained(response: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isDrained: boolean) => {
      cancel();
      response.off("drain", onDrain);
      response.off("close", onClose);
      if (!isDrained) response.destroy();
      resolve(isDrained);
    };
    const onDrain = () => settle(true);
    const onClose = () => settle(false);
    const cancel = after(PIECE_MS_MAX, onClose);
    response.once("drain", onDrain);
    response.once("close", onClose);
    if (response.destroyed) onClose();
  });
}

function busy(seen: string): ServerError {
  return new ServerError("SLUICE_CONTROL_UNAVAILABLE", `${seen}; try again in a moment`);
}
