// An address that stays while the control node behind it goes away and comes back on another port.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Forwards connections to a port of this machine, or refuses them. */
export interface LastingAddress {
  readonly url: string;
  /** Where connections lead from now on; undefined ends those that there are, and refuses others. */
  leadTo(port: number | undefined): void;
  close(): void;
}

/** Listens on a free port; see {@link LastingAddress.leadTo}. */
export async function openLastingAddress(): Promise<LastingAddress> {
  let target: number | undefined;
  const sockets = new Set<Socket>();
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    if (target === undefined) {
      client.destroy();
      return;
    }
    const ends = [client, connect(target, "127.0.0.1")] as const;
    for (const [n, socket] of ends.entries()) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        ends[1 - n]?.destroy();
      });
    }
    client.pipe(ends[1]).pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(port) {
      target = port;
      if (port === undefined) endAll();
    },
    close() {
      server.close();
      endAll();
    },
  };
}
