// An upstream that answers immediately, or as late as a test says.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A running upstream. */
export interface Upstream {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts one that answers every request with 200, after this many milliseconds or when asked to. */
export async function startUpstream(wait: number | (() => Promise<void>) = 0): Promise<Upstream> {
  const server = createServer((request, response) => {
    request.resume();
    const answer = () => void response.end("ok");
    if (typeof wait === "function") void wait().then(answer);
    else if (wait === 0) answer();
    else setTimeout(answer, wait);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
