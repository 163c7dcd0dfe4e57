// How a control node serves its followers: snapshots, the stream of changes, and their reports. The admin port mounts
// it at /v1/control.

import type { ServerResponse } from "node:http";
import { after } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { NodeLive } from "../../telemetry/live/node-second.js";
import type { StoreUses } from "../keys/key-uses.js";
import type { ChangeHub } from "./change-hub.js";
import { FollowerQuestions } from "./follower-questions.js";
import { endOfPiece, type FollowerReport } from "./follower-stream.js";
import { type FollowerBounds, FollowerStreams } from "./follower-streams.js";
import type { NodeAnswer } from "./node-question.js";

/** Snapshots that are sent at a time; a follower beyond that comes back a moment later. */
const SNAPSHOTS_MAX = 200;
/** To followers with one access token. */
const TOKEN_SNAPSHOTS_MAX = 100;
/** How long a follower may take for one piece of a snapshot. */
const PIECE_MS_MAX = 30_000;

/** What a follower asks the stream for. */
export interface StreamQuery {
  /** The last change that it has. */
  readonly after: number;
  /** The hash of that change; empty if it is not known. */
  readonly hash: string;
  readonly node: string;
  readonly instance: string;
  readonly version: string;
}

/** What a follower reports: what it has applied, and the hours in which keys were used there, by their ids. */
export interface NodeReport extends FollowerReport {
  readonly uses?: Readonly<Record<string, number>> | undefined;
  /** What it does, if it was asked. */
  readonly live?: NodeLive | undefined;
}

/** What a follower answers to a question. */
export interface AnswerReport extends FollowerReport {
  readonly answer: NodeAnswer;
}

/** Serves followers. */
export class FeedServer {
  readonly streams: FollowerStreams;
  /** Asks followers what only they know. */
  readonly questions: FollowerQuestions;
  /** Called with what followers report that they do, by the names that they are listed by. */
  onLive: (node: string, live: NodeLive) => void = () => {};
  readonly #hub: ChangeHub;
  readonly #storeUses: StoreUses;
  /** The tokens of those that are sent a snapshot. */
  readonly #snapshots: string[] = [];

  constructor(hub: ChangeHub, storeUses: StoreUses, bounds: Partial<FollowerBounds> = {}) {
    this.#hub = hub;
    this.#storeUses = storeUses;
    this.streams = new FollowerStreams(hub, bounds);
    this.questions = new FollowerQuestions(this.streams);
  }

  /**
   * Sends a snapshot, as fast as the follower reads it.
   *
   * @param token - What the follower's access token is known by.
   * @throws ServerError if too many are sent already, to this token or to all.
   */
  snapshotStream(token: string): (response: ServerResponse) => void {
    const ofToken = this.#snapshots.filter((each) => each === token).length;
    if (this.#snapshots.length >= SNAPSHOTS_MAX || ofToken >= TOKEN_SNAPSHOTS_MAX)
      throw busy(`${this.#snapshots.length} snapshots are being sent`);
    return (response) => {
      this.#snapshots.push(token);
      void this.#sendSnapshot(response)
        .catch(() => response.destroy())
        .finally(() => this.#snapshots.splice(this.#snapshots.indexOf(token), 1));
    };
  }

  /**
   * Sends changes for as long as the follower listens.
   *
   * @param token - What the follower's access token is known by.
   * @param isAuthorized - Whether that token still opens the stream; asked once a second. Default: it always does.
   * @throws ServerError if there are too many followers, of this token or of all.
   */
  changesStream(
    query: StreamQuery,
    token: string,
    isAuthorized?: () => boolean,
  ): (response: ServerResponse) => void {
    this.streams.mustHavePlace(token);
    const { after: sequence, hash, node, instance, version } = query;
    const [position, report] = [
      { sequence, hash },
      { node, instance, version, sequence },
    ];
    return (sink) => {
      // Small lines go out when they are written.
      sink.socket?.setNoDelay(true);
      this.streams.add({ sink, position, report, token, isAuthorized });
    };
  }

  /**
   * Takes what a follower reports. What it says of itself counts only if a stream of its name is open with its token: one
   * node must not speak for another.
   *
   * @param token - What the follower's access token is known by.
   * @throws ServerError of the database, which then has none of the uses.
   */
  async report({ uses, live, ...applied }: NodeReport, token: string): Promise<void> {
    const name = this.streams.report(applied, token);
    if (name !== undefined && live !== undefined) this.onLive(name, live);
    if (uses !== undefined) await this.#storeUses(new Map(Object.entries(uses)));
  }

  /** Takes what a follower answers; like a report, it counts only if a stream of its name is open with its token. */
  answer({ answer, ...applied }: AnswerReport, token: string): void {
    const name = this.streams.report(applied, token);
    if (name !== undefined) this.questions.take(name, answer);
  }

  /** Ends all streams. */
  close(): void {
    this.streams.close();
  }

  async #sendSnapshot(response: ServerResponse): Promise<void> {
    // This one is counted already.
    const isBeingRead = this.#snapshots.length > 1;
    for (const lines of await this.#hub.snapshot(isBeingRead)) {
      for (let begin = 0; begin < lines.length; ) {
        const end = endOfPiece(lines, begin);
        if (!response.write(lines.slice(begin, end)) && !(await untilDrained(response))) return;
        begin = end;
      }
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
