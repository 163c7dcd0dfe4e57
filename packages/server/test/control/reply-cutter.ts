// A proxy in front of a database that loses a reply together with its connection, at any point of a transaction.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";

/** A running proxy. */
export interface ReplyCutter {
  readonly server: Server;
  readonly port: number;
  /** Lets this many replies pass, then loses one with its connection, once. */
  cutAfterReplies: number;
  readonly cuts: number;
}

/** A proxy that loses replies of a server that has done its work. */
export async function startReplyCutter(port: number): Promise<ReplyCutter> {
  let left = Number.POSITIVE_INFINITY;
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    client.on("data", (bytes) => upstream.write(bytes));
    upstream.on("data", (bytes) => {
      if (left-- > 0) {
        client.write(bytes);
        return;
      }
      left = Number.POSITIVE_INFINITY;
      cuts++;
      client.destroy();
      upstream.destroy();
    });
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    server,
    port: (server.address() as AddressInfo).port,
    get cuts() {
      return cuts;
    },
    set cutAfterReplies(replies: number) {
      left = replies;
    },
  };
}
