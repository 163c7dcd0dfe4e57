// Connections that the primary has handed to a worker and the worker has not taken yet. Node's cluster module keeps them
// open forever if the worker dies before it answers: the client waits, and no process serves it. Here they go to another
// worker when the dead one's channel has closed, or are closed if no other is left.

import type { ChildProcess } from "node:child_process";

/** A connection as the cluster module hands it over. */
interface Handle {
  close(): void;
}

/** What the cluster module sends with a handle, and the answer to it. */
interface ClusterMessage {
  readonly cmd?: unknown;
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

const CLUSTER = "NODE_CLUSTER";
const NEW_CONNECTION = "newconn";

/** The part of a child process that messages of the cluster module go through. */
export type HandingProcess = Pick<ChildProcess, "on" | "once" | "emit" | "send">;

/**
 * Watches the connections that are handed to `worker`. When it has exited, those that it has not taken are refused in its
 * name if `hasOthers()`, after which the cluster module hands them to another worker; else they are closed.
 */
export function watchHandedConnections(worker: HandingProcess, hasOthers: () => boolean): void {
  const untaken = new Map<number, Handle>();
  const send = worker.send.bind(worker) as (...args: unknown[]) => boolean;
  worker.send = (message: unknown, handle?: unknown, ...rest: unknown[]) => {
    const { cmd, act, seq } = message as ClusterMessage;
    if (cmd === CLUSTER && act === NEW_CONNECTION && typeof seq === "number") {
      untaken.set(seq, handle as Handle);
    }
    return send(message, handle, ...rest);
  };
  worker.on("internalMessage", ({ cmd, ack }: ClusterMessage) => {
    if (cmd === CLUSTER && typeof ack === "number") untaken.delete(ack);
  });
  // Not at "exit", since its last answers may still be unread, and not at "disconnect", which Node leaves out if the worker
  // died with a connection on its way to it. By "close" the channel has been read to its end.
  worker.once("close", () => {
    for (const [seq, handle] of [...untaken]) {
      if (hasOthers()) worker.emit("internalMessage", { cmd: CLUSTER, ack: seq, accepted: false });
      else handle.close();
    }
    untaken.clear();
  });
}
