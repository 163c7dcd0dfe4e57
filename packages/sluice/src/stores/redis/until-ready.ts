// Waiting for a client's connection, alike for ioredis and node-redis.

/** What tells of a connection. */
export interface Connection {
  once(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/** Resolves at the event `ready`, rejects at `end`; no listener stays behind. */
export function untilReady(client: Connection): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (act: () => void) => () => {
      client.off("ready", ready);
      client.off("end", ended);
      act();
    };
    const ready = end(resolve);
    const ended = end(() => reject(new Error("the connection was closed")));
    client.once("ready", ready);
    client.once("end", ended);
  });
}
