// Checks a request before it is decided, whether it came by gRPC or as JSON.

import { type Descriptor, type RateLimitRequest, UNIT_MS } from "./messages.js";

/** The request can't be decided; the message says why and shows nothing of it. */
export class RequestError extends Error {
  override readonly name = "RequestError";
}

/** The most descriptors of a request. */
const DESCRIPTORS_MAX = 128;
/** The most entries of a descriptor. */
const ENTRIES_MAX = 64;

/** @throws RequestError if the request can't be decided. */
export function checkRequest({ domain, descriptors }: RateLimitRequest): void {
  if (domain === "") throw new RequestError("the domain is empty");
  if (descriptors.length === 0) throw new RequestError("there are no descriptors");
  if (descriptors.length > DESCRIPTORS_MAX) {
    throw new RequestError(
      `the request has ${descriptors.length} descriptors; at most ${DESCRIPTORS_MAX} are allowed`,
    );
  }
  for (const descriptor of descriptors) checkDescriptor(descriptor);
}

function checkDescriptor({ entries, limit }: Descriptor): void {
  if (entries.length > ENTRIES_MAX) {
    throw new RequestError(
      `a descriptor has ${entries.length} entries; at most ${ENTRIES_MAX} are allowed`,
    );
  }
  if (limit !== undefined && (limit.unit < 1 || limit.unit >= UNIT_MS.length)) {
    throw new RequestError(
      `a limit has the unknown unit ${limit.unit}; known: 1 to ${UNIT_MS.length - 1}`,
    );
  }
}
