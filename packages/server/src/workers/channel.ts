// The channel between the primary process and a worker: messages in order, both ways, until one of the two
// is gone. Whoever talks over it does not know that there are processes.

import type { EventEmitter } from "node:events";

/** One end of a channel. */
export interface Channel {
  /** Sends a message. After the other end is gone it does nothing. */
  send(message: unknown): void;
  /** Calls `listener` with each message; returns what ends that. */
  listen(listener: (message: unknown) => void): () => void;
  /** Calls `listener` once when the other end is gone; at once if it is. */
  onceGone(listener: () => void): void;
}

/** What of a process or a cluster's worker is needed to talk to the other side. */
export interface Talking extends Pick<EventEmitter, "on" | "off" | "once"> {
  isConnected(): boolean;
  send(message: unknown): void;
}

/** The channel of a process that was started with one, or of a worker as its primary sees it. */
export function processChannel(other: Talking): Channel {
  return {
    send: (message) => {
      // A message that can't be sent any more has nobody to be told to: being gone is an event of its own.
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
