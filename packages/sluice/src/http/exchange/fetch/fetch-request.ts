// A `Request` as request handlers see it. Nothing is read before a rule asks for it.

import { warn } from "../../../base/errors.js";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { BodyBounds, BodyFields } from "../../identity/body/body.js";
import { readFetchBody } from "../../identity/body/fetch-body.js";
import type { HttpRequest } from "../../identity/http-request.js";
import type { PeerOf } from "./peer-address.js";

/** Finds the address of the other end of a connection. Warns once if it is not known. */
export class PeerFinder {
  readonly #peerOf: PeerOf;
  #hasWarned = false;

  constructor(peerOf: PeerOf) {
    this.#peerOf = peerOf;
  }

  /** The peer of a request; undefined if it is not known. */
  find(request: Request, rest: readonly unknown[]): string | undefined {
    const peer = this.#peerOf(request, ...rest);
    if (peer === undefined) this.#warn();
    return peer;
  }

  #warn(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const advice = "pass the option peer, as in rateLimit({ peer: cloudflarePeer, … })";
    warn("SLUICE_PEER_UNKNOWN", `${advice}. Until then the rule's onMissing decides.`);
  }
}

/** A `Request` as request handlers see it. */
export class FetchHttpRequest implements HttpRequest {
  readonly raw: unknown;
  readonly request: Request;
  readonly #peers: PeerFinder;
  readonly #rest: readonly unknown[];
  #headers: HttpRequest["headers"] | undefined;

  /** @param rest - What the runtime passed beside the request. */
  constructor(request: Request, raw: unknown, peers: PeerFinder, rest: readonly unknown[]) {
    this.request = request;
    this.raw = raw;
    this.#peers = peers;
    this.#rest = rest;
    this.#headers = undefined;
  }

  get method(): string {
    return this.request.method;
  }

  get target(): string {
    return this.request.url;
  }

  get headers(): HttpRequest["headers"] {
    this.#headers ??= Object.fromEntries(this.request.headers);
    return this.#headers;
  }

  get peer(): string | undefined {
    return this.#peers.find(this.request, this.#rest);
  }

  readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined> {
    return readFetchBody(this.request, bounds);
  }
}
