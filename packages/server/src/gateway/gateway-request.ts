// A request of the gateway, as the request handler sees it.

import {
  type BodyBounds,
  type BodyFields,
  type HandledRequest,
  type HttpRequest,
  parseBody,
  type RequestHandler,
  toBodyForm,
} from "sluice/http";
import type { Facts } from "sluice/rules";
import type { Exchange } from "sluice-http1";
import { after } from "../base/clock.js";
import type { DecidedRequest } from "../telemetry/reported.js";
import type { ClientTrust } from "./forward/request-head.js";

/** What requests need from the gateway. */
export interface GatewayRequestHost extends Pick<ClientTrust, "isPeerTrusted"> {
  readonly requestHandler: Pick<RequestHandler, "factsOf">;
}

/** An exchange, as request handlers and telemetry see it. */
export class GatewayHttpRequest implements HttpRequest, DecidedRequest {
  readonly raw: Exchange;
  /** Without the query. */
  readonly path: string;
  readonly #host: GatewayRequestHost;
  /** Set once it is decided. */
  handled: HandledRequest | undefined = undefined;

  constructor(exchange: Exchange, path: string, host: GatewayRequestHost) {
    this.raw = exchange;
    this.path = path;
    this.#host = host;
  }

  get method(): string {
    return this.raw.method;
  }

  get target(): string {
    return this.raw.target;
  }

  /** The headers that the backend sees too. */
  get headers(): HttpRequest["headers"] {
    const { fields, peer } = this.raw;
    return fields.passedValues(this.#host.isPeerTrusted(peer));
  }

  get received(): HttpRequest["headers"] {
    return this.raw.fields.values;
  }

  get peer(): string | undefined {
    return this.raw.peer;
  }

  toFacts(): Facts {
    const { handled } = this;
    return handled === undefined ? this : this.#host.requestHandler.factsOf(this, handled);
  }

  /** Waits for the body without consuming it. */
  readBody({ bytesMax, arrivalMsMax }: BodyBounds): Promise<BodyFields | undefined> | undefined {
    const { body, fields } = this.raw;
    const { "content-type": type, "content-encoding": encoding } = this.headers;
    const form = toBodyForm(type, encoding);
    if (body === undefined || form === undefined || fields.length > bytesMax) return undefined;
    this.raw.sendContinue();
    return new Promise((resolve) => {
      const cancel = after(arrivalMsMax, () => resolve(undefined));
      body.whenHeld(bytesMax, (isWhole) => {
        cancel();
        resolve(isWhole ? parseBody(form, body.held) : undefined);
      });
    });
  }
}
