// A signal for one attempt, which is aborted by the caller's signal or at the end of the attempt's time. `AbortSignal.any`
// would do the same, but in Node.js 20 each such signal stays in memory as long as the caller's, which may be that of
// the whole process.

import { onAbort, type WaitSignal } from "../../limiter/waiter.js";

/** Stops following the caller's signal when the body of a response is no longer used: until then it can be aborted. */
const bodies = new FinalizationRegistry<() => void>((forget) => forget());

/** Sends with a signal that is aborted when one of the two is. */
export async function sendWithBoth(
  own: WaitSignal,
  limit: AbortSignal,
  send: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const controller = new AbortController();
  const forget = onAbort(own, () => controller.abort(own.reason));
  limit.addEventListener("abort", () => controller.abort(limit.reason));
  try {
    const response = await send(controller.signal);
    if (response.body) bodies.register(response.body, forget);
    else forget();
    return response;
  } catch (error) {
    forget();
    throw error;
  }
}
