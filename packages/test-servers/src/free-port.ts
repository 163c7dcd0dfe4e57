// Ports for servers. They lie below the range from which the system takes ports for outgoing
// connections, so that a server that restarts finds its port free again.

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Servers listen on the loopback interface only. */
export const loopback = "127.0.0.1";

// Each port's cluster bus is 10,000 above it: the two ranges don't meet.
const portMin = 11_000;
const portMax = 20_999;
const busOffset = 10_000;
const triesMax = 100;

/** A loopback port that is free now, together with the one 10,000 above it (the cluster bus). */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < triesMax; tries++) {
    const port = randomInt(portMin, portMax + 1);
    if ((await isFree(port)) && (await isFree(port + busOffset))) return port;
  }
  throw new Error(`no free port from ${portMin} to ${portMax} after ${triesMax} tries`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, loopback, () => server.close(() => resolve(true)));
  });
}
