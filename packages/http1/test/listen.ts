// A server of the tests listens on a free port of this machine.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Http1Server } from "../src/server/server.js";

/** Has a server listen; its URL. */
export async function listen({ netServer }: Http1Server): Promise<string> {
  netServer.listen(0, "127.0.0.1");
  await once(netServer, "listening");
  return `http://127.0.0.1:${(netServer.address() as AddressInfo).port}`;
}
