// The one option that fetch handlers have besides those of every framework, split from them.

import { anyFunction, type OptionSite, readOptions } from "../../../base/shapes/code-options.js";
import { object, withDefault } from "../../../base/shapes/shapes.js";
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

const PEER_OPTIONS = object(
  { peer: withDefault(anyFunction, runtimePeer) } satisfies Record<keyof PeerOptions, unknown>,
  { isOpen: true },
);

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
  const { peer: peerOf } = readOptions(site, PEER_OPTIONS, given === undefined ? {} : given);
  const { peer: _peer, ...others } = { ...given };
  if (first instanceof Policy) return { peerOf, args: [first, others] };
  const options = (typeof first === "object" ? others : first) as RateLimitOptions<Raw>;
  return { peerOf, args: second === undefined ? [options] : [options, second] };
}
