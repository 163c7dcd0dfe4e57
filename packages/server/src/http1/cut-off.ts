// How a connection ends when the rest of a response does not come: not in a way that looks like its end.

import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";

/**
 * Resets a connection, so that a body that ends with it is not taken for whole. One over TLS is closed
 * without the notice that its end was meant: Node can't reset it.
 */
export function cutOff(socket: Duplex): void {
  if (socket instanceof Socket && !(socket instanceof TLSSocket)) socket.resetAndDestroy();
  else socket.destroy();
}
