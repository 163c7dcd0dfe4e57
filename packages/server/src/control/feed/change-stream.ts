// The stream of changes as a follower reads it: one response that does not end. Any byte counts as a sign of life, so
// that a long line can arrive over a slow link; silence ends the stream.

import type { IncomingMessage } from "node:http";
import { formatDuration } from "sluice/shapes";
import { after, type CancelTimer, readMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { NodeChange, StatePosition } from "../state/state.js";
import { type Heartbeat, LineSplitter, type LiveAsk, readStreamLine } from "./feed-lines.js";
import type { NodeAsk } from "./node-question.js";

/** A stream without a byte for this long is closed: heartbeats come every second. */
const SILENCE_MS_MAX = 5_000;
/** How often it looks for bytes in that time. */
const SILENT_LOOKS_MAX = 5;
/** A control node may be this long behind another one before its followers load its snapshot. */
const BEHIND_MS_MAX = 10_000;
/** Changes that wait to be applied; beyond it nothing more is read until they are. */
const WAITING_MAX = 2_000;
/** Characters of them. */
const WAITING_LENGTH_MAX = 32 << 20;

/** What a stream reports. */
export interface StreamEvents {
  readonly onChange: () => void;
  /** The control node asks for what this node does. */
  readonly onLiveAsked: (ask: LiveAsk) => void;
  /** The control node asks a question of an operator. */
  readonly onAsked: (ask: NodeAsk) => void;
  /** Called once, unless it is closed. */
  readonly onEnd: (error: unknown) => void;
}

/** One response with changes. */
export class ChangeStream {
  readonly #body: IncomingMessage;
  readonly #events: StreamEvents;
  readonly #splitter = new LineSplitter();
  /** Resolves with the first line; rejects if the stream ends before it. */
  readonly begun: Promise<void>;
  #begin: () => void = () => {};
  #fail: (error: unknown) => void = () => {};
  #waiting: NodeChange[] = [];
  #waitingLength = 0;
  #gap: string | undefined;
  /** Looks in a row that found nothing. Not a time: a process that stood still has yet to read what arrived. */
  #silentLooks = 0;
  /** The last change that the control node has, as far as it has said. */
  #head: number | undefined;
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
  take({ sequence }: StatePosition): readonly NodeChange[] {
    const changes = this.#waiting;
    this.#waiting = [];
    this.#waitingLength = 0;
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
    this.#silentLooks = 0;
    try {
      for (const line of this.#splitter.add(piece)) this.#read(line);
    } catch (error) {
      this.#end(error);
      return;
    }
    const isMuch = this.#waiting.length >= WAITING_MAX || this.#waitingLength >= WAITING_LENGTH_MAX;
    if (isMuch) this.#body.pause();
    if (this.#waiting.length > 0 || this.#gap !== undefined) this.#events.onChange();
  }

  #read(text: string): void {
    const line = readStreamLine(text);
    if ("heartbeat" in line) this.#beat(line);
    else if ("gap" in line) this.#gap = line.gap;
    else this.#wait(line, text.length);
    if ("sequence" in line) this.#head = Math.max(this.#head ?? 0, line.sequence);
    this.#begin();
  }

  #beat({ heartbeat: { sequence, live, ask } }: Heartbeat): void {
    this.#head = sequence;
    if (ask !== undefined) this.#events.onAsked(ask);
    if (live !== undefined) this.#events.onLiveAsked(live);
  }

  #wait(change: NodeChange, length: number): void {
    this.#waiting.push(change);
    this.#waitingLength += length;
  }

  #mustNotBeBehind(sequence: number): void {
    if (this.#head === undefined || this.#head >= sequence) this.#behindSinceMs = undefined;
    else this.#behindSinceMs ??= readMs();
    if (this.#behindSinceMs === undefined || readMs() - this.#behindSinceMs < BEHIND_MS_MAX) return;
    throw gap(`the control node is at change ${this.#head}, and this node at ${sequence}`);
  }

  #watchSilence(): void {
    this.#cancelSilence = after(SILENCE_MS_MAX / SILENT_LOOKS_MAX, () => {
      // Nothing is heard while it is paused.
      this.#silentLooks = this.#body.isPaused() ? 0 : this.#silentLooks + 1;
      if (this.#silentLooks < SILENT_LOOKS_MAX) return this.#watchSilence();
      this.#end(unavailable(`nothing was received for ${formatDuration(SILENCE_MS_MAX)}`));
    });
  }

  #end(error: unknown): void {
    if (this.#isOver) return;
    this.close();
    this.#events.onEnd(this.#gap === undefined ? error : gap(this.#gap));
  }
}

/** An error that says why a control node can't be followed. */
export function unavailable(seen: string, cause?: unknown): ServerError {
  return new ServerError("SLUICE_CONTROL_UNAVAILABLE", seen, { cause });
}

function gap(seen: string): ServerError {
  return new ServerError("SLUICE_CONTROL_GAP", seen);
}
