// The channel between two processes, within one: for tests of what talks over it.

import { deserialize, serialize } from "node:v8";
import type { Channel } from "../src/workers/channel/channel.js";

/** Two ends, how many messages each has sent, and a way to cut them off from each other. */
export interface ChannelPair<Message = unknown> {
  readonly worker: Channel<Message>;
  readonly primary: Channel<Message>;
  readonly counts: readonly [worker: number, primary: number];
  cut(): void;
}

/** Two ends of a channel in one process. Messages are copied as between two, and come a turn of the event loop later. */
export function channelPair<Message = unknown>(): ChannelPair<Message> {
  const sides = [new Set<(message: Message) => void>(), new Set<(message: Message) => void>()];
  const gone: (() => void)[] = [];
  const counts: [number, number] = [0, 0];
  let isGone = false;
  const endOf = (own: 0 | 1): Channel<Message> => ({
    send: (message) => {
      counts[own]++;
      const copy = serialize(message);
      setImmediate(() => {
        if (!isGone) for (const listener of sides[1 - own]) listener(deserialize(copy));
      });
    },
    listen: (listener) => {
      sides[own].add(listener);
      return () => sides[own].delete(listener);
    },
    onceGone: (listener) => void gone.push(listener),
  });
  const cut = () => {
    isGone = true;
    for (const listener of gone.splice(0)) listener();
  };
  return { worker: endOf(0), primary: endOf(1), counts, cut };
}
