// A real HTTP server that receives webhooks in tests, and behaves as each test wants.

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** A request that was received. */
export interface ReceivedRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers a request. */
export type Respond = (
  response: ServerResponse,
  request: IncomingMessage,
  count: number,
) => void | Promise<void>;

/** A receiver. */
export interface WebhookReceiver {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** How it answers from now on. Default: 204. */
  respond: Respond;
  close(): Promise<void>;
}

/** Starts a receiver on a free port of loopback. */
export async function startReceiver(
  respond: Respond = (response) => void response.writeHead(204).end(),
): Promise<WebhookReceiver> {
  const requests: ReceivedRequest[] = [];
  const server: Server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    const { method, url: path, headers } = request;
    requests.push({ method, path, headers, body });
    await receiver.respond(response, request, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/hooks`,
    requests,
    respond,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return receiver;
}
