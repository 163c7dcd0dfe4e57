// Which addresses are this machine's own: a listener that listens there needs no token.

import { BlockList, isIP } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Whether an address or name is this machine's own and no other machine's. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  if (name === "localhost") return true;
  const family = isIP(name);
  return family !== 0 && LOOPBACK.check(name, family === 4 ? "ipv4" : "ipv6");
}
