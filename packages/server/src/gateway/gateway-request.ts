// A request of the gateway, as the request handler sees it.

import {
  type BodyBounds,
  type BodyFields,
  type HttpRequest,
  parseBody,
  toBodyForm,
} from "sluice/http";
import type { Exchange } from "sluice-http1";
import { after } from "../base/clock.js";
import type { ClientTrust } from "./forward/request-head.js";

/** An exchange, as request handlers see it. */
export class GatewayHttpRequest implements HttpRequest {
  readonly raw: Exchange;
  readonly #trust: Pick<ClientTrust, "isPeerTrusted">;

  constructor(exchange: Exchange, trust: Pick<ClientTrust, "isPeerTrusted">) {
    this.raw = exchange;
    this.#trust = trust;
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
    return fields.passedValues(this.#trust.isPeerTrusted(peer));
  }

  get received(): HttpRequest["headers"] {
    return this.raw.fields.values;
  }

  get peer(): string | undefined {
    return this.raw.peer;
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
