// The bodies that the admin port takes, and the words for what is wrong with one.

import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { ServerError, show } from "../base/errors.js";
import { GrowingBuffer } from "../base/http/growing-buffer.js";
import { mustBeJson, parseJson } from "../base/http/json.js";

/** Bytes of a body. */
export const BODY_BYTES_MAX = 65_536;

const text = z.string().max(16_384);
const name = z.string().min(1).max(256);
const cost = z.int().min(0).optional();

/** Facts, as the library has them, but for the API key: `apiKey` is the key itself, `apiKeyHash` its hash. */
export const facts = z.strictObject({
  method: text.default("GET"),
  path: text.default("/"),
  host: text.optional(),
  ip: text.optional(),
  user: text.optional(),
  // Listeners cut what surrounds a key off before they hash it.
  apiKey: text.trim().min(1).optional(),
  apiKeyHash: text.optional(),
  tenant: text.optional(),
  tier: text.optional(),
  headers: z.record(z.string(), z.union([text, z.array(text)])).optional(),
  cookies: z.record(z.string(), text).optional(),
  body: z.record(z.string(), z.unknown()).optional(),
  attributes: z.record(z.string(), z.union([text, z.number()])).optional(),
});

/** A key of a rule: as it is counted, or as the facts of a request make it. */
const target = { rule: name, key: text.min(1).optional(), facts: facts.optional() };
const isOneKey = ({ key, facts }: { key?: unknown; facts?: unknown }) =>
  (key === undefined) !== (facts === undefined);
const ONE_KEY = { error: "needs either key or facts" };

/** The bodies, by verb. */
export const inputs = {
  check: z.strictObject({ facts, cost }),
  peek: z.strictObject({ facts, cost }),
  explain: z.strictObject({ facts, cost, all: z.boolean().optional() }),
  reset: z.strictObject(target).refine(isOneKey, ONE_KEY),
  unblock: z.strictObject(target).refine(isOneKey, ONE_KEY),
  /** `forMs: null` is until it is unblocked. */
  block: z.strictObject({ ...target, forMs: z.int().min(1).nullable() }).refine(isOneKey, ONE_KEY),
  refund: z.strictObject({ ...target, cost: z.int().min(0) }).refine(isOneKey, ONE_KEY),
  none: z.strictObject({}),
} as const;

/** A verb with a body. */
export type Verb = keyof typeof inputs;
/** What a verb is given. */
export type Input<V extends Verb> = z.infer<(typeof inputs)[V]>;

/**
 * The body of a request, read and checked. An empty one is an empty object.
 *
 * @throws ServerError that says where something is wrong and what was seen.
 */
export async function readInput<V extends Verb>(
  verb: V,
  request: IncomingMessage,
): Promise<Input<V>> {
  const body = await readBody(request);
  const value = body.length === 0 ? {} : parseJson(body);
  const result = inputs[verb].safeParse(value);
  if (result.success) return result.data as Input<V>;
  throw invalid(result.error.issues.map((issue) => sayIssue(issue, value)).join("; "));
}

function sayIssue({ path, message, code }: z.core.$ZodIssue, value: unknown): string {
  const where = path.length === 0 ? "the body" : path.join(".");
  const seen = path.reduce<unknown>(
    (at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part],
    value,
  );
  const got = code === "unrecognized_keys" ? "" : `, got ${show(seen)}`;
  return `${where}: ${message}${got}`;
}

/** Not by `for await`: leaving that early would destroy the socket before the answer is sent. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  mustBeJson(request.headers["content-type"]);
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer();
    request.on("data", (piece: Buffer) => {
      if (body.length + piece.length <= BODY_BYTES_MAX) body.add(piece);
      else reject(new ServerError("SLUICE_BODY_TOO_LARGE", `at most ${BODY_BYTES_MAX} bytes`));
    });
    request.on("end", () => resolve(body.bytes));
    request.on("error", reject);
  });
}

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}
