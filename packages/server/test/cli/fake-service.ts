// A server that answers what a test says, where the command expects a service's admin port.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What was asked of it. */
export interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** A server on a free port, with what it was asked so far. */
export interface FakeService {
  readonly url: string;
  readonly asked: readonly Asked[];
  close(): Promise<void>;
}

/**
 * Starts one. `answer` ends the response, or does whatever the test is about.
 *
 * @param isSluice - Whether it identifies itself as Sluice's admin port; it then answers `/livez` by itself.
 */
export async function startFakeService(
  answer: (response: ServerResponse, asked: Asked) => void,
  { isSluice = true }: { readonly isSluice?: boolean } = {},
): Promise<FakeService> {
  const asked: Asked[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const body = await text(request);
    const { method, url, headers } = request;
    const one = { method, url, authorization: headers.authorization, body: parse(body) };
    if (isSluice) response.setHeader("sluice-admin", "0.1.0");
    if (isSluice && url === "/livez") return sendJson(response, 200, { live: true });
    asked.push(one);
    answer(response, one);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${port}`, asked, close };
}

/** Answers JSON. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function parse(body: string): unknown {
  return body === "" ? undefined : (JSON.parse(body) as unknown);
}
