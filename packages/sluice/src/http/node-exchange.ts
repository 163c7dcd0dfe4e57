// The way of a `node:http` request through a door, for all frameworks that are built on it: fields set,
// refusals answered, delays waited for, and what is held settled when the response is out or the
// client is gone.

import type { IncomingMessage, ServerResponse } from "node:http";
import { andThen, type MaybePromise } from "../maybe-promise.js";
import type { Door, Passage } from "./door.js";
import type { RequestView } from "./request-view.js";

/** A `node:http` request as doors see it. */
export class NodeView implements RequestView {
  readonly raw: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.raw = request;
  }

  get method(): string {
    return this.raw.method ?? "GET";
  }

  get target(): string {
    return this.raw.url ?? "/";
  }

  get headers(): RequestView["headers"] {
    return this.raw.headers;
  }

  get peer(): string | undefined {
    return this.raw.socket.remoteAddress;
  }

  readBody(_bytesMax: number): undefined {
    return undefined;
  }
}

/** Takes a request through a door. True if it may go on; if not, it was answered. */
export function passNode(
  door: Door,
  view: RequestView,
  response: ServerResponse,
): MaybePromise<boolean> {
  return andThen(door.enter(view), (passage) => answer(passage, response));
}

function answer(passage: Passage, response: ServerResponse): boolean {
  const { fields, refusal } = passage;
  for (let i = 0; i < fields.length; i += 2) response.setHeader(fields[i], fields[i + 1]);
  if (refusal === undefined) return true;
  response.statusCode = refusal.status;
  response.end(refusal.body);
  return false;
}
