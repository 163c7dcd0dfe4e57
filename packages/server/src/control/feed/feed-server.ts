// What a control node answers its followers: snapshots, the stream of changes, and their reports. The admin port mounts
// it at /v1/control.

import type { ServerResponse } from "node:http";
import { after } from "../../base/clock.js";
import { ServerError, show } from "../../base/errors.js";
import type { ChangeHub } from "./change-hub.js";
import { FEED_TYPE } from "./feed-lines.js";
import { FOLLOWERS_MAX, type FollowerReport, FollowerStreams } from "./follower-streams.js";

/** Snapshots that are sent at a time; a follower beyond that comes back a moment later. */
const SNAPSHOTS_MAX = 100;
/** How long a follower may take for one piece of a snapshot. */
const PIECE_MS_MAX = 30_000;
const NAME = /^[\w.:-]{1,100}$/;

/** What a follower asks the stream for. */
export interface StreamQuery {
  /** The last change that it has. */
  readonly after: number;
  /** Of that change; empty if it is not known. */
  readonly hash: string;
  readonly node: string;
  readonly version: string;
}

/** Serves followers. */
export class FeedServer {
  readonly streams: FollowerStreams;
  readonly #hub: ChangeHub;
  #snapshots = 0;

  constructor(hub: ChangeHub) {
    this.#hub = hub;
    this.streams = new FollowerStreams(hub);
  }

  /** Sends a snapshot, as fast as the follower reads it. @throws ServerError if too many are sent already. */
  async sendSnapshot(response: ServerResponse): Promise<void> {
    if (this.#snapshots >= SNAPSHOTS_MAX) throw busy(`${SNAPSHOTS_MAX} snapshots are being sent`);
    this.#snapshots++;
    try {
      const pieces = await this.#hub.snapshot();
      response.writeHead(200, { "content-type": FEED_TYPE });
      for (const piece of pieces) {
        if (response.write(piece)) continue;
        if (!(await untilDrained(response))) return;
      }
      response.end();
    } finally {
      this.#snapshots--;
    }
  }

  /** Sends changes for as long as the follower listens. @throws ServerError if there are too many followers. */
  sendChanges(response: ServerResponse, query: StreamQuery): void {
    if (this.streams.count >= FOLLOWERS_MAX) throw busy(`there are ${FOLLOWERS_MAX} followers`);
    const { after: sequence, hash, node, version } = query;
    response.writeHead(200, { "content-type": FEED_TYPE, "cache-control": "no-store" });
    // Small lines go out when they are written.
    response.socket?.setNoDelay(true);
    response.flushHeaders();
    this.streams.add(response, { sequence, hash }, { node, version, sequence });
  }

  /** What a follower has applied. */
  report(report: FollowerReport): void {
    this.streams.report(report);
  }

  /** Ends all streams. */
  close(): void {
    this.streams.close();
  }
}

/** Reads the query of the stream. @throws ServerError `SLUICE_REQUEST_INVALID`. */
export function readStreamQuery({ searchParams }: URL): StreamQuery {
  const sent = Object.fromEntries(searchParams);
  const after = Number(sent.after ?? "");
  if (!/^\d{1,16}$/.test(sent.after ?? "") || !Number.isSafeInteger(after))
    throw invalid(`after must be the number of a change, got ${show(sent.after)}`);
  return { after, hash: sent.hash ?? "", ...readNames(sent) };
}

/** Reads a report. @throws ServerError `SLUICE_REQUEST_INVALID`. */
export function readReport(input: unknown): FollowerReport {
  const sent = (typeof input === "object" && input !== null ? input : {}) as Record<
    string,
    unknown
  >;
  const { sequence } = sent;
  if (typeof sequence !== "number" || !Number.isSafeInteger(sequence) || sequence < 0)
    throw invalid(`sequence must be the number of a change, got ${show(sequence)}`);
  return { sequence, ...readNames(sent) };
}

/** Names are shown to operators and end in logs. */
function readNames(sent: Readonly<Record<string, unknown>>): { node: string; version: string } {
  const { node = "", version = "" } = sent;
  for (const [name, value] of Object.entries({ node, version })) {
    if (typeof value !== "string" || !NAME.test(value))
      throw invalid(`${name} must be 1 to 100 letters, digits or _ - . :, got ${show(value)}`);
  }
  return { node: String(node), version: String(version) };
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

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}
