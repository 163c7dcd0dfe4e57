// The channels between the primary process and a worker: messages in order, both ways, until one of the two is gone.
// Control messages go over Node's own channel, which takes any value. Calls of the store are many and small, so they
// have a pipe of their own and are lines of text: structured clones took a fifth of the primary's time.

import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";

/** One end of a channel. */
export interface Channel<Message = unknown> {
  /** Sends a message. After the other end is gone it does nothing. */
  send(message: Message): void;
  /** Calls `listener` with each message. Returns a function that stops it. */
  listen(listener: (message: Message) => void): () => void;
  /** Calls `listener` once when the other end is gone; immediately if it already is. */
  onceGone(listener: () => void): void;
}

/** The two channels between a primary and a worker. */
export interface Channels {
  /** Requests of both sides: reload, drain, metrics. */
  readonly control: Channel;
  /** Calls of the store and their answers. Each message is one line, without the line break. */
  readonly store: Channel<string>;
}

/** The part of a process or of a cluster worker that a channel needs. */
export interface ProcessEndpoint extends Pick<EventEmitter, "on" | "off" | "once"> {
  isConnected(): boolean;
  send(message: unknown): void;
}

/** The channel of a process that was started with one, or of a worker as its primary sees it. */
export function processChannel(other: ProcessEndpoint): Channel {
  return {
    send: (message) => {
      // The other end may be gone: `onceGone` reports that, so the message can be dropped.
      if (other.isConnected()) other.send(message);
    },
    listen: (listener) => {
      other.on("message", listener);
      return () => void other.off("message", listener);
    },
    onceGone: (listener) => {
      if (other.isConnected()) other.once("disconnect", listener);
      else listener();
    },
  };
}

/** A pipe as a channel of lines. Nothing is read before there is a listener. */
export function lineChannel(pipe: Socket): Channel<string> {
  pipe.setEncoding("utf8");
  // `onceGone` reports it, by the close that follows.
  pipe.on("error", () => {});
  return {
    send: (line) => {
      if (pipe.writable) pipe.write(`${line}\n`);
    },
    listen: (listener) => {
      const hear = toLines(listener);
      pipe.on("data", hear);
      return () => void pipe.off("data", hear);
    },
    onceGone: (listener) => {
      if (pipe.destroyed) listener();
      else pipe.once("close", listener);
    },
  };
}

/** Splits incoming chunks into lines and calls `listener` with each complete line. */
function toLines(listener: (line: string) => void): (piece: string) => void {
  let begun: string[] = [];
  return (piece) => {
    const lines = piece.split("\n");
    const rest = lines.pop() ?? "";
    if (lines.length > 0) {
      lines[0] = begun.join("") + lines[0];
      begun = [];
    }
    if (rest !== "") begun.push(rest);
    for (const line of lines) listener(line);
  };
}
