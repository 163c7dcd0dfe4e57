// Waits for a client's connection, and finds out why there is none, for both ioredis and node-redis.

/** A source of connection events. */
export interface ConnectionEvents {
  once(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/** A source of error events. */
export interface Listened {
  on(event: string, listener: (error: unknown) => void): void;
  off(event: string, listener: (error: unknown) => void): void;
}

/** Resolves at the event `ready`, rejects at `end`; no listener stays behind. */
export function untilReady(client: ConnectionEvents): Promise<void> {
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

/** Why the latest attempt to connect failed: the server was not there, or did not let us in. */
export class ConnectionFailure {
  reason: string | undefined;

  /** Takes note of an error event. A connection that was cut is not a failed attempt. */
  note(error: unknown): void {
    const { message, syscall } = error as { message?: unknown; syscall?: unknown };
    const isRefused = typeof message === "string" && /^[A-Z][A-Z0-9]+ /.test(message);
    if (syscall === "connect" || isRefused) this.reason = String(message);
  }

  /** Listens to a client; returns what ends that. */
  listenTo(client: Listened): () => void {
    const note = (error: unknown) => this.note(error);
    const forget = () => {
      this.reason = undefined;
    };
    client.on("error", note);
    client.on("ready", forget);
    return () => {
      client.off("error", note);
      client.off("ready", forget);
    };
  }
}
