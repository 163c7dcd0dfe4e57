// Reads what a request to the admin port carries: its query and its body, by their shapes.

import type { IncomingMessage } from "node:http";
import type { Shape } from "sluice/shapes";
import { ServerError, show } from "../../base/errors.js";
import { GrowingBuffer } from "../../base/http/growing-buffer.js";
import { mustBeJson, parseJson } from "../../base/http/json.js";
import { readInput } from "../../base/read-input.js";

/** Bytes of a body, unless its route says otherwise. */
export const BODY_BYTES_MAX = 65_536;

/**
 * The query, read and checked.
 *
 * @throws ServerError `SLUICE_REQUEST_INVALID` that says which parameter is wrong, unknown or there twice.
 */
export function readQuery<T>(shape: Shape<T>, { searchParams }: URL): T {
  // No name is special, `__proto__` neither.
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of searchParams) {
    if (Object.hasOwn(values, name))
      throw new ServerError("SLUICE_REQUEST_INVALID", `the query has ${show(name)} twice`);
    values[name] = withoutNul(value, `the query has ${show(name)}`);
  }
  return readInput(shape, values, "the query");
}

/**
 * The same string.
 *
 * @throws ServerError `SLUICE_REQUEST_INVALID` if it has a NUL character, which no id has and PostgreSQL does not take.
 */
export function withoutNul(text: string, where: string): string {
  if (!text.includes("\0")) return text;
  throw new ServerError("SLUICE_REQUEST_INVALID", `${where} with a NUL character`);
}

/**
 * The body, read and checked. An empty one is an empty object.
 *
 * @throws ServerError `SLUICE_REQUEST_INVALID`, `SLUICE_MEDIA_TYPE` or `SLUICE_BODY_TOO_LARGE`.
 */
export async function readBody<T>(
  shape: Shape<T>,
  message: IncomingMessage,
  bytesMax: number = BODY_BYTES_MAX,
): Promise<T> {
  // Most clients send no type with a DELETE that has no body. A page of elsewhere can't send one without asking first.
  const isBare = message.method === "DELETE" && message.headers["content-type"] === undefined;
  if (!isBare) mustBeJson(message.headers["content-type"]);
  const body = await collect(message, bytesMax);
  if (isBare && body.length > 0) mustBeJson(undefined);
  return readInput(shape, body.length === 0 ? {} : parseJson(body));
}

/** Not by `for await`: leaving that early would destroy the socket before the answer is sent. */
function collect(message: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer();
    message.on("data", (piece: Buffer) => {
      if (body.length + piece.length <= bytesMax) body.add(piece);
      else reject(new ServerError("SLUICE_BODY_TOO_LARGE", `at most ${bytesMax} bytes`));
    });
    message.on("end", () => resolve(body.bytes));
    message.on("error", reject);
  });
}
