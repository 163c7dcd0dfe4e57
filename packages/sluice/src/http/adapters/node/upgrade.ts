// Upgrades, such as those of WebSockets. There is no response object yet: a refusal is written to the socket
// itself. An upgraded connection holds its charges until its socket closes.

import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { isThenable } from "../../../base/maybe-promise.js";
import {
  goOnWith,
  type LimitedRequest,
  NodeHttpRequest,
  toErrorReply,
} from "../../exchange/node/node-exchange.js";
import type { HandledRequest } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { WholeResponse } from "../../response/refusal.js";
import { toLines } from "../../response/response-headers.js";

/** Has a request handler decide an upgrade: calls `goOn` if it is allowed, else answers and ends the socket. */
export function handleUpgrade(
  requestHandler: RequestHandler,
  request: IncomingMessage,
  socket: Duplex,
  goOn: () => unknown,
): void {
  // Until a handler takes over there is no other listener, and an error without a listener ends the process.
  socket.on("error", ignore);
  const go = (handled: HandledRequest) => {
    socket.off("error", ignore);
    (request as LimitedRequest).rateLimit = handled;
    goOn();
  };
  const fail = (error: unknown) => {
    requestHandler.onError(error);
    endSocket(socket, toErrorReply(error), "");
  };
  goOnWith(
    () => requestHandler.handle(new NodeHttpRequest(request)),
    (handled) => answer(handled, socket, go),
    fail,
  );
}

function answer(
  handled: HandledRequest,
  socket: Duplex,
  go: (handled: HandledRequest) => void,
): void {
  if (handled.refusal !== undefined) {
    endSocket(socket, handled.refusal, handled.lines);
    return;
  }
  if (handled.isHeld) finishWithSocket(handled, socket);
  const waited = handled.waited();
  if (!isThenable(waited)) {
    go(handled);
    return;
  }
  const stopWatching = watchEnd(socket);
  waited.then((mayGoOn) => {
    stopWatching();
    if (mayGoOn) go(handled);
  });
}

/** Closes a socket whose client leaves. A socket that is not read would not notice; no byte is taken from it. */
function watchEnd(socket: Duplex): () => void {
  const look = () => {
    if (socket.readableLength === 0) socket.read(0);
  };
  const leave = () => socket.destroy();
  socket.on("readable", look).on("end", leave);
  return () => socket.off("readable", look).off("end", leave);
}

/** An upgraded connection has no response to count by: it is counted as a 101. */
function finishWithSocket(handled: HandledRequest, socket: Duplex): void {
  if (socket.destroyed) handled.finish({});
  else socket.once("close", () => handled.finish({ status: 101 }));
}

/** Writes a whole response to the socket, and closes it. */
function endSocket(socket: Duplex, { status, fields, body }: WholeResponse, lines: string): void {
  if (socket.destroyed) return;
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n${lines}`;
  socket.end(`${head}${toLines(fields)}\r\n${body}`, () => socket.destroy());
}

function ignore(): void {}
