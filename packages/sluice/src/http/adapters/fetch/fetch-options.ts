// The one option that fetch handlers have besides those of every framework, split from them.

import { show } from "../../../base/errors.js";
import { type OptionSite, refuse } from "../../../base/shapes/code-options.js";
import { Policy } from "../../../rules/policy/policy.js";
import {
  type HttpOptions,
  type RateLimitOptions,
  refuseRequest,
} from "../../handler/http-options.js";
import { type PeerOf, runtimePeer } from "./peer-address.js";

/** Options of fetch handlers besides {@link HttpOptions}. */
export interface PeerOptions {
  /**
   * Finds the address at the other end of the connection. Default: `runtimePeer`, which knows Bun,
   * Deno and `@hono/node-server`.
   */
  peer?: PeerOf;
}

/** The arguments of every framework, and what is left of ours. */
export interface SplitOptions<Raw> {
  readonly peerOf: PeerOf;
  readonly args: readonly [first: Policy | RateLimitOptions<Raw>, second?: HttpOptions<Raw>];
}

/** Takes {@link PeerOptions} out of the arguments of a middleware. */
export function splitPeerOptions<Raw>(
  site: OptionSite,
  first: Policy | (RateLimitOptions<Raw> & PeerOptions),
  second: (HttpOptions<Raw> & PeerOptions) | undefined,
): SplitOptions<Raw> {
  refuseRequest(site, first);
  const given = first instanceof Policy ? second : first;
  const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
  if (given !== undefined && !isObject)
    refuse(site, `needs an object of options, got ${show(given)}`);
  const { peer = runtimePeer, ...others } = { ...given };
  if (typeof peer !== "function") refuse(site, `peer must be a function, got ${show(peer)}`);
  if (first instanceof Policy) return { peerOf: peer, args: [first, others] };
  const options = (typeof first === "object" ? others : first) as RateLimitOptions<Raw>;
  return { peerOf: peer, args: second === undefined ? [options] : [options, second] };
}
