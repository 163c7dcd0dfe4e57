// Which bodies of requests can be sent again.

/** What fetch takes as a body. */
export type RequestBody = NonNullable<RequestInit["body"]>;

/** Whether fetch can send the same value again. Streams and iterables are read once. */
export function isReplayable(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === "string") return true;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return true;
  if (body instanceof URLSearchParams || body instanceof FormData) return true;
  return body instanceof Blob;
}
