// The feed of a follower: it gets its state from a control node, over HTTP. Snapshots are responses of their own;
// changes come as one response that does not end, with a heartbeat every second. A stream that breaks, or falls
// silent, is opened again where it ended, after a pause that grows and differs from follower to follower.

import type { IncomingMessage } from "node:http";
import { after, type CancelTimer, readMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { FollowControlConfig } from "../../config/config.js";
import type { Unsubscribe } from "../../database/database.js";
import type { NodeLive } from "../../telemetry/live/node-second.js";
import { createRandom } from "../../telemetry/random.js";
import type { LastUses } from "../keys/key-uses.js";
import type { ResolvingFeed } from "../state/control-feed.js";
import type { NodeChange, Snapshot, StatePosition } from "../state/state.js";
import { ChangeStream, unavailable } from "./change-stream.js";
import { FEED_TYPE, LineSplitter, type LiveAsk, SnapshotReader } from "./feed-lines.js";
import type { NodeReport } from "./feed-server.js";
import { ControlNodeClient, type NodeRequest } from "./http-requests.js";
import type { AnswerQuestion, NodeAsk } from "./node-question.js";

const RETRY_MS_MIN = 200;
const RETRY_MS_MAX = 10_000;
const REPORT_MS = 2_000;
/** Questions that are answered at a time; others stay without an answer, and the control node says so. */
const ANSWERS_MAX = 2;
/** Characters of a snapshot: about two million API keys. */
const SNAPSHOT_LENGTH_MAX = 512 << 20;

/** What a follower answers its control node. */
export interface FollowerReporting {
  /** What this node does, with its last minutes if they are wanted. */
  readLive(hasPast: boolean): Promise<NodeLive>;
  /** Questions that operators ask the control node. */
  readonly answerQuestion: AnswerQuestion;
}

/** Options of {@link HttpFeed}. */
export interface HttpFeedOptions
  extends Pick<FollowControlConfig, "url" | "token" | "caFile" | "node"> {
  /** The version of Sluice. */
  readonly version: string;
  /** Distinguishes this process from others of the same name. */
  readonly instance: string;
  /** Characters of a snapshot; a longer one is not read to its end, and the follower keeps what it has. Default 512 Mi. */
  readonly snapshotLengthMax?: number;
  /** What it answers with when the control node asks; undefined while the service is not open. Default: it does not. */
  readonly reporting?: (() => FollowerReporting | undefined) | undefined;
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
  #position: StatePosition = { sequence: 0, hash: "" };
  #reported = -1;
  #reportedAtMs = 0;
  #isReading = false;
  #answering = 0;

  constructor(options: HttpFeedOptions) {
    this.#options = options;
    this.#random = options.random ?? createRandom();
    this.#client = new ControlNodeClient(options);
  }

  async snapshot(): Promise<Snapshot> {
    this.#mustWait();
    try {
      const body = await this.#get({ path: "/v1/control/snapshot" });
      const snapshot = await this.#readSnapshot(body);
      this.#closeStream();
      return snapshot;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async changesAfter(position: StatePosition): Promise<readonly NodeChange[]> {
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
    const response = await this.#sendReport({ uses: Object.fromEntries(uses) });
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

  async #readSnapshot(body: IncomingMessage): Promise<Snapshot> {
    const { snapshotLengthMax = SNAPSHOT_LENGTH_MAX } = this.#options;
    const [splitter, reader] = [new LineSplitter(), new SnapshotReader()];
    let length = 0;
    body.setEncoding("utf8");
    for await (const piece of body) {
      length += piece.length;
      if (length > snapshotLengthMax) throw tooLong(snapshotLengthMax);
      for (const line of splitter.add(piece)) reader.add(line);
    }
    return reader.finish();
  }

  async #open({ sequence, hash }: StatePosition): Promise<void> {
    this.#mustWait();
    const { node, instance, version } = this.#options;
    const query = new URLSearchParams({ after: String(sequence), hash, node, instance, version });
    try {
      const path = `/v1/control/changes?${query}`;
      const body = await this.#get({ path, isStream: true });
      const stream = new ChangeStream(body, {
        onChange: () => this.#onChange(),
        onLiveAsked: (ask) => void this.#reportLive(ask),
        onAsked: (ask) => void this.#answer(ask),
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

  /**
   * An ask that arrives while a report is being sent is skipped, and the next report covers it. A report that can't be sent
   * is lost.
   */
  async #reportLive({ hasPast }: LiveAsk): Promise<void> {
    const reporting = this.#options.reporting?.();
    if (reporting === undefined || this.#isReading) return;
    this.#isReading = true;
    try {
      await this.#sendReport({ live: await reporting.readLive(hasPast) });
    } catch {
      // The control node says that this node is silent, and asks again.
    } finally {
      this.#isReading = false;
    }
  }

  /** What can't be answered stays without an answer: the control node says which nodes it did not hear from. */
  async #answer(ask: NodeAsk): Promise<void> {
    const reporting = this.#options.reporting?.();
    if (reporting === undefined || this.#answering >= ANSWERS_MAX) return;
    this.#answering++;
    try {
      const answer = await reporting.answerQuestion(ask);
      await this.#send("/v1/control/answer", { answer });
    } catch {
      // See above.
    } finally {
      this.#answering--;
    }
  }

  #sendReport(parts: Partial<NodeReport> = {}): Promise<IncomingMessage> {
    return this.#send("/v1/control/report", parts);
  }

  /** Sends something of this node, with how far it is. */
  async #send(path: string, parts: object): Promise<IncomingMessage> {
    const { node, instance, version } = this.#options;
    const { sequence } = this.#position;
    const response = await this.#client.send({
      path,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ node, instance, version, sequence, ...parts }),
    });
    return response.resume();
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

const CA_HINT = "set control.caFile to the certificate of the authority that issued it";
const NAME_HINT = "set control.follow to a name that the certificate is for";
const DATE_HINT = "renew the certificate of the control node, or correct the clock of this machine";
/** What to do about a certificate, by the error codes of OpenSSL and Node. */
const TLS_HINTS: ReadonlyMap<string | undefined, string> = new Map([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", CA_HINT],
  ["SELF_SIGNED_CERT_IN_CHAIN", CA_HINT],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", CA_HINT],
  ["UNABLE_TO_GET_ISSUER_CERT", CA_HINT],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", CA_HINT],
  ["CERT_SIGNATURE_FAILURE", CA_HINT],
  ["ERR_TLS_CERT_ALTNAME_INVALID", NAME_HINT],
  ["CERT_HAS_EXPIRED", DATE_HINT],
  ["CERT_NOT_YET_VALID", DATE_HINT],
]);

/** `ECONNREFUSED`, or what TLS says and what to do about it. */
function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const isSaid = (part: string | undefined) => part !== undefined && part !== "";
  const said = [code, message].filter(isSaid).join(": ") || String(error);
  return [said, TLS_HINTS.get(code)].filter(isSaid).join("; ");
}

function tooLong(lengthMax: number): ServerError {
  const advice = "remove API keys and tenants that are not used, or follow another control node";
  return unavailable(`its snapshot has over ${lengthMax} characters, the bound; ${advice}`);
}
