// Sends responses of the library on exchanges of the HTTP/1.1 server.

import type { Refusal, WholeResponse } from "sluice/http";
import { type Exchange, RepeatedReply } from "sluice-http1";

/** Sends a whole response, with `lines` in front of its headers. */
export function sendReply(exchange: Exchange, reply: WholeResponse, lines: string): void {
  exchange.reply(reply.status, toLines(reply, lines), reply.body);
}

/** Sends refusals of one request handler to clients of one server. In a flood many are the same object. */
export class RefusalSender {
  #refusal: Refusal | undefined = undefined;
  #lines = "";
  #repeated: RepeatedReply | undefined = undefined;
  readonly #toReply: (refusal: Refusal) => WholeResponse;

  /** @param toReply - What is sent for a refusal. Default: the refusal as it is. */
  constructor(toReply: (refusal: Refusal) => WholeResponse = asItIs) {
    this.#toReply = toReply;
  }

  /** As {@link sendReply} does. */
  send(exchange: Exchange, refusal: Refusal, lines: string): void {
    if (refusal === this.#refusal && lines === this.#lines) {
      this.#repeated ??= toRepeated(this.#toReply(refusal), lines);
      exchange.repeat(this.#repeated);
      return;
    }
    // Most that are seen for the first time are not seen again.
    this.#refusal = refusal;
    this.#lines = lines;
    this.#repeated = undefined;
    sendReply(exchange, this.#toReply(refusal), lines);
  }
}

function asItIs(refusal: Refusal): WholeResponse {
  return refusal;
}

function toRepeated(reply: WholeResponse, lines: string): RepeatedReply {
  return new RepeatedReply(reply.status, toLines(reply, lines), reply.body);
}

function toLines({ fields }: WholeResponse, lines: string): string {
  let head = lines;
  for (let i = 0; i < fields.length; i += 2) {
    // The exchange writes what frames the body.
    if (fields[i] !== "Content-Length") head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  }
  return head;
}
