// Listens on an address, the same way for every listener.

import type { AddressInfo, Server } from "node:net";
import { ServerError } from "../errors.js";

/** Where to listen. Port 0: any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Connections that wait in the kernel to be accepted; the system may allow fewer (`net.core.somaxconn`). Beyond
 * it a client's first packet is dropped, and sent again after a second. Node asks for 511.
 */
const BACKLOG = 4_096;

/**
 * Has a server listen. Returns where: `127.0.0.1:8080`, `[::1]:8080`, with the port that it got.
 *
 * @param name - The listener, for errors.
 * @throws ServerError `SLUICE_LISTEN_FAILED` if it can't listen on the address.
 */
export function listenAt(server: Server, listen: ListenAddress, name: string): Promise<string> {
  const { host, port } = listen;
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => {
      const seen = `${name} at ${host}:${port}: ${cause.message}`;
      reject(new ServerError("SLUICE_LISTEN_FAILED", seen, { cause }));
    };
    server.once("error", fail);
    server.listen(port, host, BACKLOG, () => {
      server.off("error", fail);
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`${family === "IPv6" ? `[${address}]` : address}:${bound}`);
    });
  });
}
