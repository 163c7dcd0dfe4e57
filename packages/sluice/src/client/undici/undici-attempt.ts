// One attempt of a request on undici. Its response is paused until it is decided whether the caller gets it; while a
// retry waits, the body is read and kept, so that the connection is free again.

import type { HeaderSource } from "../headers/header-source.js";
import type { Kept } from "../outgoing-request.js";
import type {
  Dispatch,
  DispatchController,
  DispatchHandler,
  DispatchOptions,
  ResponseHeaders,
} from "./undici-handlers.js";

/** Bodies of refusals are short. A longer one is paused, and goes on if the caller gets it. */
const KEPT_BYTES_MAX = 65_536;

/** Waiting: not decided yet. Kept: read ahead. Delivered: the caller's. Dropped: of no more interest. */
type State = "waiting" | "kept" | "delivered" | "dropped";

/** An attempt, and its response once that has started. */
export class UndiciAttempt implements DispatchHandler, Kept<UndiciAttempt> {
  status = 0;
  readonly headers: HeaderSource = { get: (name) => this.#headerOf(name) };
  /** Resolves when the response has started; rejects if there is none. */
  readonly started: Promise<UndiciAttempt>;

  readonly #handler: DispatchHandler;
  readonly #downstream: DispatchController;
  #controller: DispatchController | undefined;
  #abortReason: Error | undefined;
  #headers: ResponseHeaders = {};
  #message: string | undefined;
  #state: State = "waiting";
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #end: (() => void) | undefined;
  #resolve!: (attempt: UndiciAttempt) => void;
  #reject!: (error: unknown) => void;

  /**
   * @param handler - The caller's, which gets the response if it is delivered.
   * @param downstream - The controller that the caller has, whatever attempt it stands for.
   */
  constructor(handler: DispatchHandler, downstream: DispatchController) {
    this.#handler = handler;
    this.#downstream = downstream;
    this.started = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Sends it. */
  dispatch(dispatch: Dispatch, options: DispatchOptions): Promise<UndiciAttempt> {
    try {
      dispatch(options, this);
    } catch (error) {
      this.#reject(error);
    }
    return this.started;
  }

  /** Ends it. One that still waits for a connection, which undici can't abort, ends too, and is never written to one. */
  abort(reason: Error): void {
    this.#abortReason = reason;
    this.#controller?.abort(reason);
    this.#reject(reason);
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  /**
   * Gives the response to the caller: what was read of it, and then the rest as it comes. As in undici, what the caller's
   * handler throws ends the request, and the handler gets it as its error.
   */
  deliver(): void {
    // A connection that was upgraded is the caller's already.
    if (this.#state === "delivered") return;
    this.#state = "delivered";
    try {
      this.#handOver();
    } catch (error) {
      this.#state = "dropped";
      this.#chunks = [];
      if (this.#end === undefined) this.#controller?.abort(error as Error);
      this.#handler.onResponseError?.(this.#downstream, error as Error);
    }
  }

  #handOver(): void {
    this.#handler.onResponseStart?.(this.#downstream, this.status, this.#headers, this.#message);
    for (const chunk of this.#chunks) this.#handler.onResponseData?.(this.#downstream, chunk);
    this.#chunks = [];
    if (this.#end === undefined) this.#controller?.resume();
    else this.#end();
  }

  /** Reads the body ahead while a retry waits. */
  keep(): this {
    this.#state = "kept";
    this.#controller?.resume();
    return this;
  }

  /** What has not arrived by now is not waited for: a body without an end would hold its connection forever. */
  discard(): void {
    this.#state = "dropped";
    this.#chunks = [];
    if (this.#end === undefined)
      this.#controller?.abort(new Error("the rest of a refusal is not read"));
  }

  take(): UndiciAttempt {
    return this;
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller;
    if (this.#abortReason !== undefined) controller.abort(this.#abortReason);
  }

  onRequestUpgrade(
    _controller: DispatchController,
    status: number,
    headers: ResponseHeaders,
    socket: unknown,
  ): void {
    this.status = status;
    this.#headers = headers;
    this.#state = "delivered";
    this.#handler.onRequestUpgrade?.(this.#downstream, status, headers, socket);
    this.#resolve(this);
  }

  onResponseStart(
    controller: DispatchController,
    status: number,
    headers: ResponseHeaders,
    message?: string,
  ): void {
    // 1xx: the response is still to come.
    if (status < 200) {
      this.#handler.onResponseStart?.(this.#downstream, status, headers, message);
      return;
    }
    this.status = status;
    this.#headers = headers;
    this.#message = message;
    controller.pause();
    this.#resolve(this);
  }

  onResponseData(controller: DispatchController, chunk: Uint8Array): void {
    if (this.#state === "delivered") {
      this.#handler.onResponseData?.(this.#downstream, chunk);
      return;
    }
    if (this.#state === "dropped") return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes > KEPT_BYTES_MAX) controller.pause();
  }

  onResponseEnd(_controller: DispatchController, trailers: unknown): void {
    this.#ended(() => this.#handler.onResponseEnd?.(this.#downstream, trailers));
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#reject(error);
    // Before the response has started, the error is the attempt's, which is decided on like a response.
    if (this.status !== 0)
      this.#ended(() => this.#handler.onResponseError?.(this.#downstream, error));
  }

  #ended(end: () => void): void {
    if (this.#state === "delivered") end();
    else this.#end = end;
  }

  #headerOf(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === "object" ? value.join(", ") : value;
  }
}
