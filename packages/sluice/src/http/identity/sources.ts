// Where a fact about the caller comes from: a header that a trusted peer wrote, a claim of a verified
// token, or a function in code.

import { SluiceError } from "../../base/errors.js";
import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import type { HttpRequest } from "./http-request.js";

/** A header of the request, trusted from trusted proxies only: any client can send any header. */
export interface HeaderSource {
  /** The name of the header, in any case. A header with several values counts as missing. */
  readonly header: string;
  /** `"anyone"` trusts it from every peer; default `"proxies"`: from `trustedProxies` only. */
  readonly trust?: "proxies" | "anyone";
}

/** A claim of a verified token. */
export interface ClaimSource {
  /** `"sub"`; `"org.id"` for a claim within a claim; a list for names that have dots themselves. */
  readonly claim: string | readonly string[];
}

/** A function of the framework's own request. If it throws or rejects, the request fails. */
export type FactFunction<Raw = unknown> = (raw: Raw) => MaybePromise<string | number | undefined>;

/** Where a fact comes from. */
export type FactSource<Raw = unknown> = HeaderSource | ClaimSource | FactFunction<Raw>;

/** The claims of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/** The one value of a header; undefined if it is missing, blank, or has several. */
export function readSingle(request: HttpRequest, header: string): string | undefined {
  const lines = request.headers[header];
  const text = typeof lines === "string" ? lines : lines?.length === 1 ? lines[0] : undefined;
  // Several lines of a header arrive joined by commas: a proxy added its own to a client's.
  if (text === undefined || text.includes(",")) return undefined;
  const value = text.trim();
  return value === "" ? undefined : value;
}

/** A claim that is a string or a number, as a string; undefined if there is no such claim. */
export function readClaim(claims: Claims | undefined, path: readonly string[]): string | undefined {
  let value: unknown = claims;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Claims)[name];
  }
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** What a function returns, as a string. "" counts as missing. */
export function askFunction(
  name: string,
  ask: FactFunction,
  request: HttpRequest,
): MaybePromise<string | undefined> {
  return andThen(ask(request.raw), (answer: unknown) => {
    if (answer === undefined || answer === null || answer === "") return undefined;
    if (typeof answer === "string") return answer;
    if (typeof answer === "number" && Number.isFinite(answer)) return String(answer);
    // Its type only: the value may be private.
    const seen = `identity.${name}: the function must return a string, a number or undefined, got ${typeof answer}`;
    throw new SluiceError("SLUICE_OPTION_INVALID", seen);
  });
}
