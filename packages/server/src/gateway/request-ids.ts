// The ids of requests at the gateway, read from a header that clients or proxies send. They make a retry count once
// under durable rules. Only headers that are forwarded count: an upstream that never sees the id would do the work again.

import { createHash } from "node:crypto";
import type { HttpOptions } from "sluice/http";
import type { Exchange } from "sluice-http1";
import type { GatewayRequestHost } from "./gateway-request.js";

/**
 * Options by which requests with the header count once under durable rules. The id also says which request it is and
 * with which credentials, so that callers that choose the same value are not mixed up.
 *
 * @param header - Its name, in lower case.
 */
export function toRequestIds(
  header: string,
  host: Pick<GatewayRequestHost, "isPeerTrusted">,
): Required<Pick<HttpOptions, "requestId" | "requestIdFor">> {
  return {
    requestId: (request) => {
      const exchange = request as Exchange;
      return toRequestId(exchange, header, host.isPeerTrusted(exchange.peer));
    },
    requestIdFor: "durable",
  };
}

function toRequestId(
  { method, target, fields }: Exchange,
  header: string,
  isPeerTrusted: boolean,
): string | undefined {
  const passed = fields.passedValues(isPeerTrusted);
  const { [header]: id, authorization, cookie, "x-api-key": apiKey } = passed;
  if (id === undefined || id.length === 0) return undefined;
  const parts = [method, target, id, authorization, cookie, apiKey];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
