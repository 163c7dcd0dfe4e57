// A listener with nothing but the feed of a control node, for tests that are about followers.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { ServerError } from "../../src/base/errors.js";
import { FEED_TYPE } from "../../src/control/feed/feed-lines.js";
import type { FeedServer } from "../../src/control/feed/feed-server.js";

/** The token that it takes. */
export const FEED_TOKEN = "a-token-of-a-follower";

/** Serves a feed on a free port, or on that of an earlier one. */
export async function listenToFollowers(
  feed: FeedServer,
  port = 0,
  tls?: { readonly certFile: string; readonly keyFile: string },
): Promise<{ url: string; port: number; requests: string[]; close: () => Promise<void> }> {
  const requests: string[] = [];
  const handle = (message: IncomingMessage, response: ServerResponse) => {
    requests.push(`${message.method} ${message.url?.split("?")[0]}`);
    answer(feed, message, response).catch((error: unknown) => {
      response.writeHead(error instanceof ServerError ? error.status : 500).end(String(error));
    });
  };
  const server = tls === undefined ? createServer(handle) : createSecureServer(toPem(tls), handle);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const address = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    close: () => close(server),
  };
}

async function answer(
  feed: FeedServer,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(message.url ?? "/", "http://feed");
  const send = (stream: (response: ServerResponse) => void) => {
    stream(response.writeHead(200, { "content-type": FEED_TYPE }));
  };
  if (message.headers.authorization !== `Bearer ${FEED_TOKEN}`) response.writeHead(401).end();
  else if (pathname === "/v1/control/snapshot") send(feed.snapshotStream(FEED_TOKEN));
  else if (pathname === "/v1/control/changes") {
    const of = (name: string) => searchParams.get(name) ?? "";
    const [instance, version] = [of("instance"), of("version")];
    const query = { hash: of("hash"), node: of("node"), instance, version };
    send(feed.changesStream({ after: Number(of("after")), ...query }, FEED_TOKEN));
  } else if (pathname === "/v1/control/report") {
    let text = "";
    for await (const piece of message) text += piece;
    await feed.report(JSON.parse(text), FEED_TOKEN);
    response.writeHead(200).end();
  } else response.writeHead(404).end();
}

function toPem({ certFile, keyFile }: { certFile: string; keyFile: string }) {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
