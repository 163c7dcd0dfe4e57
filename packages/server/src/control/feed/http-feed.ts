// Where a follower gets its state from: a control node, over HTTP. Snapshots are responses of their own; changes come as
// one response that does not end, with a heartbeat every second. A stream that breaks, or falls silent, is opened again
// where it ended, after a pause that grows and differs from follower to follower.

import type { IncomingMessage } from "node:http";
import { after, type CancelTimer, readMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { FollowControlConfig } from "../../config/config.js";
import { createRandom } from "../../telemetry/random.js";
import type { Unsubscribe } from "../database/database.js";
import type { LastUses } from "../keys/key-uses.js";
import type { NodeChange, Position, Snapshot } from "../state/state.js";
import type { ResolvingFeed } from "./feed.js";
import { FEED_TYPE, LineSplitter, readStreamLine, SnapshotReader } from "./feed-lines.js";
import { ControlNodeClient, type NodeRequest } from "./http-requests.js";

/** Without a line for so long, a stream is given up: heartbeats come every second. */
const SILENCE_MS_MAX = 5_000;
/** A control node may be this long behind another one before its followers load its snapshot. */
const BEHIND_MS_MAX = 10_000;
const RETRY_MS_MIN = 200;
const RETRY_MS_MAX = 10_000;
/** Changes that wait to be applied; beyond it nothing more is read, and the control node cuts the stream off. */
const WAITING_MAX = 2_000;
const REPORT_MS = 2_000;

/** Options of {@link HttpFeed}. */
export interface HttpFeedOptions
  extends Pick<FollowControlConfig, "url" | "token" | "caFile" | "node"> {
  /** Of Sluice. */
  readonly version: string;
  /** Numbers from 0 to below 1, by which pauses differ. Default: random ones. */
  readonly random?: () => number;
}

/** The feed of a follower. */
export class HttpFeed implements ResolvingFeed {
  readonly #options: HttpFeedOptions;
  readonly #client: ControlNodeClient;
  readonly #random: () => number;
  #stream: ChangeStream | undefined;
  #onChange: () => void = () => {};
  #retryMs = RETRY_MS_MIN;
  /** Not before this is the control node asked again. */
  #retryAtMs = 0;
  #problem: unknown;
  #cancelRetry: CancelTimer = () => {};
  #position: Position = { sequence: 0, hash: "" };
  #reported = -1;
  #reportedAtMs = 0;

  constructor(options: HttpFeedOptions) {
    this.#options = options;
    this.#random = options.random ?? createRandom();
    this.#client = new ControlNodeClient(options);
  }

  async snapshot(): Promise<Snapshot> {
    this.#mustWait();
    try {
      const body = await this.#get({ path: "/v1/control/snapshot" });
      const [splitter, reader] = [new LineSplitter(), new SnapshotReader()];
      body.setEncoding("utf8");
      for await (const piece of body) for (const line of splitter.add(piece)) reader.add(line);
      this.#closeStream();
      return reader.finish();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async changesAfter(position: Position): Promise<readonly NodeChange[]> {
    this.#position = position;
    if (this.#stream === undefined) await this.#open(position);
    const stream = this.#stream;
    if (stream === undefined) throw this.#problem;
    const changes = stream.take(position);
    this.#report();
    return changes;
  }

  /** Sends them with a report. Rejects if the control node did not store them. */
  async storeUses(uses: LastUses): Promise<void> {
    const response = await this.#sendReport(uses);
    const { statusCode = 0 } = response;
    if (statusCode !== 200) throw unavailable(describe(statusCode, ""));
  }

  subscribe(onChange: () => void): Unsubscribe {
    this.#onChange = onChange;
    return () => {
      this.#onChange = () => {};
      this.#cancelRetry();
      this.#closeStream();
      this.#client.close();
    };
  }

  async #open({ sequence, hash }: Position): Promise<void> {
    this.#mustWait();
    const { node, version } = this.#options;
    const query = new URLSearchParams({ after: String(sequence), hash, node, version });
    try {
      const path = `/v1/control/changes?${query}`;
      const body = await this.#get({ path, isStream: true });
      const stream = new ChangeStream(body, {
        onChange: () => this.#onChange(),
        onEnd: (error) => this.#ended(stream, error),
      });
      this.#stream = stream;
      // Until then it is not known whether this is a control node.
      await stream.begun;
      this.#retryMs = RETRY_MS_MIN;
    } catch (error) {
      this.#closeStream();
      throw this.#failed(error);
    }
  }

  async #get(request: NodeRequest): Promise<IncomingMessage> {
    const response = await this.#client.send({ ...request, headers: { accept: FEED_TYPE } });
    const { statusCode = 0, headers } = response;
    const type = headers["content-type"] ?? "";
    if (statusCode === 200 && type.startsWith(FEED_TYPE)) return response;
    response.resume();
    throw unavailable(describe(statusCode, type));
  }

  #mustWait(): void {
    if (readMs() < this.#retryAtMs) throw this.#problem;
  }

  /** Remembers a failure, and tries again after a pause. */
  #failed(error: unknown): unknown {
    const isOurs = error instanceof ServerError;
    const problem = isOurs ? error : unavailable(reasonOf(error), error);
    this.#problem = problem;
    // A snapshot is asked for without a pause.
    if (problem.code === "SLUICE_CONTROL_GAP") return problem;
    const pauseMs = this.#retryMs * (0.5 + this.#random() / 2);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
    this.#retryAtMs = readMs() + pauseMs;
    this.#cancelRetry();
    this.#cancelRetry = after(pauseMs, () => this.#onChange());
    return problem;
  }

  #ended(stream: ChangeStream, error: unknown): void {
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    this.#failed(error);
  }

  #closeStream(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.close();
  }

  /** Reports what was applied, soon after it changed and every few seconds besides. Lost reports don't matter. */
  #report(): void {
    const { sequence } = this.#position;
    const quietMs = readMs() - this.#reportedAtMs;
    if (quietMs < REPORT_MS || (sequence === this.#reported && quietMs < 5 * REPORT_MS)) return;
    this.#reported = sequence;
    this.#reportedAtMs = readMs();
    this.#sendReport().catch(() => {});
  }

  async #sendReport(uses?: LastUses): Promise<IncomingMessage> {
    const { node, version } = this.#options;
    const { sequence } = this.#position;
    const report = { node, version, sequence, ...(uses && { uses: Object.fromEntries(uses) }) };
    const response = await this.#client.send({
      path: "/v1/control/report",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(report),
    });
    return response.resume();
  }
}

interface StreamEvents {
  readonly onChange: () => void;
  /** Called once, unless it is closed. */
  readonly onEnd: (error: unknown) => void;
}

/** One response with changes. */
class ChangeStream {
  readonly #body: IncomingMessage;
  readonly #events: StreamEvents;
  readonly #splitter = new LineSplitter();
  /** Resolves with the first heartbeat; rejects if the stream ends before it. */
  readonly begun: Promise<void>;
  #begin: () => void = () => {};
  #fail: (error: unknown) => void = () => {};
  #waiting: NodeChange[] = [];
  #gap: string | undefined;
  #heardMs = readMs();
  #head = 0;
  /** Since when the control node is behind this follower. */
  #behindSinceMs: number | undefined;
  #cancelSilence: CancelTimer = () => {};
  #isOver = false;

  constructor(body: IncomingMessage, events: StreamEvents) {
    this.#body = body;
    this.#events = events;
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#fail = reject;
    });
    this.begun.catch(() => {});
    body.setEncoding("utf8");
    body.on("data", (piece: string) => this.#hear(piece));
    body.on("error", (error) => this.#end(error));
    body.on("end", () => this.#end(unavailable("the stream of changes ended")));
    this.#watchSilence();
  }

  /** What has come after a position. @throws ServerError `SLUICE_CONTROL_GAP` if a snapshot is needed. */
  take({ sequence }: Position): readonly NodeChange[] {
    const changes = this.#waiting;
    this.#waiting = [];
    if (changes.length > 0 && this.#body.isPaused()) this.#body.resume();
    if (changes.length === 0 && this.#gap !== undefined) throw gap(this.#gap);
    if (changes.length === 0) this.#mustNotBeBehind(sequence);
    return changes;
  }

  close(): void {
    this.#isOver = true;
    this.#cancelSilence();
    this.#fail(unavailable("the stream was closed"));
    // Its error is of no interest any more.
    this.#body.on("error", () => {});
    this.#body.destroy();
  }

  #hear(piece: string): void {
    if (this.#isOver) return;
    this.#heardMs = readMs();
    try {
      for (const line of this.#splitter.add(piece)) this.#read(line);
    } catch (error) {
      this.#end(error);
      return;
    }
    if (this.#waiting.length >= WAITING_MAX) this.#body.pause();
    if (this.#waiting.length > 0 || this.#gap !== undefined) this.#events.onChange();
  }

  #read(text: string): void {
    const line = readStreamLine(text);
    if ("heartbeat" in line) this.#head = line.heartbeat.sequence;
    else if ("gap" in line) this.#gap = line.gap;
    else this.#waiting.push(line);
    if ("heartbeat" in line || "gap" in line) this.#begin();
  }

  #mustNotBeBehind(sequence: number): void {
    if (this.#head >= sequence) this.#behindSinceMs = undefined;
    else this.#behindSinceMs ??= readMs();
    if (this.#behindSinceMs === undefined || readMs() - this.#behindSinceMs < BEHIND_MS_MAX) return;
    throw gap(`the control node is at change ${this.#head}, and this node at ${sequence}`);
  }

  #watchSilence(): void {
    this.#cancelSilence = after(SILENCE_MS_MAX / 5, () => {
      // Nothing is heard while it is paused.
      if (this.#body.isPaused()) this.#heardMs = readMs();
      if (readMs() - this.#heardMs < SILENCE_MS_MAX) return this.#watchSilence();
      this.#end(unavailable(`nothing came for ${SILENCE_MS_MAX} ms`));
    });
  }

  #end(error: unknown): void {
    if (this.#isOver) return;
    this.close();
    this.#events.onEnd(this.#gap === undefined ? error : gap(this.#gap));
  }
}

function describe(status: number, type: string): string {
  switch (status) {
    case 401:
      return "it refused the token (401): control.token is wrong, expired or revoked";
    case 403:
      return "the token may not follow (403): its role must be node or admin";
    case 200:
      return `it answered with ${type === "" ? "no type" : type}: check that control.follow is the admin port of a control node`;
    default:
      return `it answered with status ${status}: check that control.follow is the admin port of a control node`;
  }
}

/** `ECONNREFUSED`, or what TLS says. */
function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return (
    [code, message].filter((part) => part !== undefined && part !== "").join(": ") || String(error)
  );
}

function unavailable(seen: string, cause?: unknown): ServerError {
  return new ServerError("SLUICE_CONTROL_UNAVAILABLE", seen, { cause });
}

function gap(seen: string): ServerError {
  return new ServerError("SLUICE_CONTROL_GAP", seen);
}
