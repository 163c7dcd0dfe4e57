/**
 * Rate limits for Hono, on Node, Bun, Deno and workers.
 *
 * @module
 */

import type { Context, MiddlewareHandler } from "hono";
import { andThen, type MaybePromise } from "../maybe-promise.js";
import type { OptionSite } from "../options.js";
import type { Policy } from "../rules/policy.js";
import { type BodyBounds, type BodyFields, parseBody, toBodyForm } from "./body.js";
import { type FetchPassage, passFetch, toResponse } from "./fetch/exchange.js";
import { type PeerOptions, splitPeerOptions } from "./fetch/options.js";
import { FetchView, PeerFinder } from "./fetch/view.js";
import { type HttpOptions, type RateLimitOptions, toDoor } from "./options.js";
import type { RateLimitInfo } from "./passage.js";

export type { PeerOptions } from "./fetch/options.js";
export { cloudflarePeer, headerPeer, type PeerOf, runtimePeer } from "./fetch/peer.js";
export type * from "./types.js";

/** What handlers find in the context: `c.get("rateLimit")`. */
export interface RateLimitEnv {
  Variables: { rateLimit: RateLimitInfo };
}

/** A middleware for `app.use`. */
export interface HonoRateLimit extends MiddlewareHandler<RateLimitEnv> {
  /** A handler for `app.get("/rate_limit", …)`: the caller's state under every rule, without counting. */
  status(c: Context): MaybePromise<Response>;
  readonly policy: Policy;
  /** Lets go of a policy that was made for this middleware; one that was given stays open. */
  close(): Promise<void>;
}

const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** Puts a policy in front of requests. */
export function rateLimit(
  policy: Policy,
  options?: HttpOptions<Context> & PeerOptions,
): HonoRateLimit;
/** Puts one rule in front of requests. */
export function rateLimit(options: RateLimitOptions<Context> & PeerOptions): HonoRateLimit;
export function rateLimit(
  first: Policy | (RateLimitOptions<Context> & PeerOptions),
  second?: HttpOptions<Context> & PeerOptions,
): HonoRateLimit {
  const { peerOf, args } = splitPeerOptions(SITE, first, second);
  const door = toDoor(SITE, ...args);
  const peers = new PeerFinder(peerOf);
  const middleware = (c: Context<RateLimitEnv>, next: () => Promise<void>) =>
    andThen<FetchPassage, Response | undefined>(
      passFetch(door, new HonoView(c, peers), c.req.raw),
      (passage) => passage.response ?? goOn(c, next, passage),
    );
  return Object.assign(middleware as MiddlewareHandler<RateLimitEnv>, {
    status: (c: Context) =>
      andThen(door.status(new HonoView(c, peers)), (reply) => toResponse(reply)),
    policy: door.policy,
    close: () => door.close(),
  });
}

async function goOn(
  c: Context<RateLimitEnv>,
  next: () => Promise<void>,
  passage: FetchPassage,
): Promise<undefined> {
  c.set("rateLimit", passage.info);
  try {
    await next();
  } catch (error) {
    // Hono answers errors itself, and what is left are things thrown that are none.
    passage.fail();
    throw error;
  }
  const answer = passage.finish(c.res);
  if (answer === c.res) return;
  // Without this Hono would merge the headers of both.
  c.res = undefined;
  c.res = answer;
}

class HonoView extends FetchView {
  constructor(c: Context, peers: PeerFinder) {
    super(c.req.raw, c, peers, [c.env]);
  }

  /** A body that somebody has read already is one that Hono remembers. */
  override readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined> {
    if (!this.request.bodyUsed) return super.readBody(bounds);
    const { req } = this.raw as Context;
    const form = toBodyForm(req.header("content-type"), req.header("content-encoding"));
    if (form === undefined) return undefined;
    return req
      .arrayBuffer()
      .then((bytes) =>
        bytes.byteLength > bounds.bytesMax ? undefined : parseBody(form, new Uint8Array(bytes)),
      );
  }
}
