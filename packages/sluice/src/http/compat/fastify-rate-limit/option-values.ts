// Values of options as @fastify/rate-limit reads them: invalid numbers become the default.

import type { FastifyRequest } from "fastify";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { ValueByKey } from "./fastify-options.js";

const MAX_DEFAULT = 1_000;
const SUBNET_DEFAULT = 64;

/** An invalid limit becomes the default, as in @fastify/rate-limit. */
export function toMax(max: unknown): number {
  return Number.isFinite(max) && (max as number) >= 0 ? Math.trunc(max as number) : MAX_DEFAULT;
}

/** An invalid length of a prefix becomes the default. */
export function toSubnet(bits: unknown): number {
  const isLength = Number.isFinite(bits) && (bits as number) >= 0 && (bits as number) <= 128;
  return isLength ? Math.max(1, Math.trunc(bits as number)) : SUBNET_DEFAULT;
}

/** A number, or what a function chooses for a request. */
export function numberFor(
  value: number | ValueByKey<number>,
  request: FastifyRequest,
  key: string,
): MaybePromise<number> {
  return typeof value === "function" ? value(request, key) : value;
}

/** Names of headers that are not to be sent. */
export function toHidden(shown: Readonly<Record<string, boolean>> = {}): ReadonlySet<string> {
  return new Set(Object.keys(shown).filter((name) => shown[name] === false));
}
