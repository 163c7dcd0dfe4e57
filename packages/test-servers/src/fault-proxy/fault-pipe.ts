// One direction of one connection through the fault proxy: bytes that came in and wait for their
// turn to go out. How they go out is the proxy's present flow, so a change takes effect immediately, also
// on bytes that are already waiting.

import type { Socket } from "node:net";
import { nowMs, startTimer } from "../clock.js";

/** How bytes travel: whole, late, some of them sent again, a few at a time, or not at all. */
export type Flow =
  | { readonly kind: "pass" }
  | { readonly kind: "delay"; readonly delayMs: number }
  | { readonly kind: "lossy"; readonly delayMs: number; readonly lostMs: () => number }
  | { readonly kind: "trickle"; readonly bytes: number; readonly everyMs: number }
  | { readonly kind: "hold" };

// Beyond it, reading stops and the sender meets the back pressure of a full network.
const heldBytesMax = 1024 * 1024;

// What one Ethernet frame carries of a TCP stream; each is lost by itself.
const segmentBytes = 1460;

interface Held {
  readonly bytes: Buffer;
  readonly cameMs: number;
  /** For how long it was lost, until it was sent again. */
  readonly lostMs: number;
}

/** Carries bytes from one socket to another. */
export class FaultPipe {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #flow: () => Flow;
  readonly #onPassed: (bytes: number) => void;
  #held: Held[] = [];
  #heldBytes = 0;
  #ended = false;
  #cancelTimer: (() => void) | undefined;

  constructor(from: Socket, to: Socket, flow: () => Flow, onPassed: (bytes: number) => void) {
    this.#from = from;
    this.#to = to;
    this.#flow = flow;
    this.#onPassed = onPassed;
    to.on("drain", () => this.#mayRead());
  }

  /** Takes bytes that came in. */
  push(bytes: Buffer): void {
    const flow = this.#flow();
    const cameMs = nowMs();
    if (flow.kind !== "lossy") this.#held.push({ bytes, cameMs, lostMs: 0 });
    else {
      for (let at = 0; at < bytes.length; at += segmentBytes) {
        const segment = bytes.subarray(at, at + segmentBytes);
        this.#held.push({ bytes: segment, cameMs, lostMs: flow.lostMs() });
      }
    }
    this.#heldBytes += bytes.length;
    if (this.#heldBytes >= heldBytesMax) this.#from.pause();
    this.#pump();
  }

  /** The sender is done: the receiver learns it after the bytes that still wait. */
  end(): void {
    this.#ended = true;
    this.#pump();
  }

  /** To be called when the flow has changed. */
  flowChanged(): void {
    this.#stopTimer();
    this.#pump();
  }

  /** Forgets what waits. */
  close(): void {
    this.#stopTimer();
    this.#held = [];
    this.#heldBytes = 0;
  }

  #pump(): void {
    const flow = this.#flow();
    if (flow.kind === "hold") return;
    for (let head = this.#held[0]; head !== undefined; head = this.#held[0]) {
      if (this.#cancelTimer !== undefined) return;
      // A segment that was lost holds back those behind it.
      const waitMs = "delayMs" in flow ? head.cameMs + flow.delayMs + head.lostMs - nowMs() : 0;
      if (waitMs > 0) this.#pumpAfter(waitMs);
      else this.#send(head, flow.kind === "trickle" ? flow.bytes : head.bytes.length);
      if (flow.kind === "trickle") this.#pumpAfter(flow.everyMs);
    }
    if (this.#ended && !this.#to.writableEnded) this.#to.end();
  }

  #send(head: Held, count: number): void {
    const now = head.bytes.subarray(0, count);
    const rest = head.bytes.subarray(count);
    if (rest.length === 0) this.#held.shift();
    else this.#held[0] = { ...head, bytes: rest };
    this.#heldBytes -= now.length;
    if (!this.#to.writable) return void this.#from.resume();
    this.#onPassed(now.length);
    if (this.#to.write(now)) this.#mayRead();
    else this.#from.pause();
  }

  #mayRead(): void {
    if (this.#heldBytes < heldBytesMax && !this.#to.writableNeedDrain) this.#from.resume();
  }

  #pumpAfter(waitMs: number): void {
    this.#cancelTimer = startTimer(Math.ceil(waitMs), () => {
      this.#cancelTimer = undefined;
      this.#pump();
    });
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}
