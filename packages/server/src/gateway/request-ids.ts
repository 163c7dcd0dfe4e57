// The ids of requests at the gateway, read from a header that clients or proxies send. They make a retry count once
// under durable rules.

import { createHash } from "node:crypto";
import type { HttpOptions } from "sluice/http";
import type { Exchange } from "sluice-http1";

/**
 * Options by which requests with the header count once under durable rules. The id also says which request it is and
 * with which credentials, so that callers that choose the same value are not mixed up.
 *
 * @param header - Its name, in lower case.
 */
export function toRequestIds(
  header: string,
): Required<Pick<HttpOptions, "requestId" | "requestIdFor">> {
  return {
    requestId: (request) => toRequestId(request as Exchange, header),
    requestIdFor: "durable",
  };
}

function toRequestId({ method, target, fields }: Exchange, header: string): string | undefined {
  const { [header]: id, authorization, cookie, "x-api-key": apiKey } = fields.values;
  if (id === undefined || id.length === 0) return undefined;
  const parts = [method, target, id, authorization, cookie, apiKey];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
