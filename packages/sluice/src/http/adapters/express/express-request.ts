// A request of Express as request handlers see it: with the path that the client asked for, wherever the middleware
// is mounted, and the address that the app's own `trust proxy` setting finds.

import type { Application, Request, Response } from "express";
import { SluiceError } from "../../../base/errors.js";
import { toBareAddress } from "../../../rules/normalize/address.js";
import { NodeHttpRequest } from "../../exchange/node/node-exchange.js";
import { peerOf } from "../../exchange/node/request-data.js";

/** A request of Express. */
export class ExpressHttpRequest extends NodeHttpRequest {
  declare readonly raw: Request;
  readonly #knowsProxies: boolean;

  /** @param knowsProxies - Whether `identity.trustedProxies` walks the proxies, so Express must not. */
  constructor(request: Request, response: Response, knowsProxies: boolean) {
    super(request, response);
    this.#knowsProxies = knowsProxies;
  }

  override get target(): string {
    return this.raw.originalUrl;
  }

  override get peer(): string | undefined {
    if (this.#knowsProxies) return peerOf(this.raw);
    // Read as a property: an app that is mounted inherits it, and asking for `ip` walks the header.
    const trust: unknown = appOf(this.raw).settings["trust proxy"];
    if (!trust) return peerOf(this.raw);
    if (trust !== true) return bare(this.raw.ip);
    throw new SluiceError(
      "SLUICE_OPTION_INVALID",
      'rateLimit: with "trust proxy" set to true any client may write its own address; ' +
        "set it to the addresses or the number of your proxies",
    );
  }
}

/** What the latest request inherits from, which is the app's own, and that app. */
let latestKind: unknown;
let latestApp: Application | undefined;

/** The app of a request. Most are of the same as the one before; see exchange/node/request-data.ts for what that spares. */
function appOf(request: Request): Application {
  const kind: object | null = Object.getPrototypeOf(request);
  if (kind === latestKind && latestApp !== undefined) return latestApp;
  const { app } = request;
  if (kind !== null && Object.hasOwn(kind, "app")) {
    latestKind = kind;
    latestApp = app;
  }
  return app;
}

/** Some proxies write the port as well. */
function bare(address: string | undefined): string | undefined {
  return address === undefined ? undefined : (toBareAddress(address) ?? address);
}
