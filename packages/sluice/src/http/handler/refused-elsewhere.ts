// Requests that hold something of one request handler, and those of them that another one in this process refused:
// if the first counts by the response, it must not count the other's refusal. Nothing else is remembered, because
// an entry of a weak set costs more than a refusal does (bench service/reject).

const held = new WeakSet<object>();
const refused = new WeakSet<object>();

/** A request holds something of a request handler. */
export function noteHeld(request: unknown): void {
  if (isObject(request)) held.add(request);
}

/** A request handler refused a request. */
export function noteRefused(request: unknown): void {
  if (isObject(request) && held.has(request)) refused.add(request);
}

/** Whether a request that was held is refused. */
export function wasRefused(request: unknown): boolean {
  return isObject(request) && refused.has(request);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
