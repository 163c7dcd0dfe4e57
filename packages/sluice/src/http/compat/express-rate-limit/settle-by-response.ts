// Requests that count, or don't, depending on what `requestWasSuccessful` returns for their response.

import type { Request, Response } from "express";
import { isThenable } from "../../../base/maybe-promise.js";
import type { HandledRequest } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import { toIsCounted } from "../express-like-options.js";
import type { ExpressOptions } from "./express-options.js";

/** Settles a request by its response. */
export type SettleByResponse = (
  requestHandler: RequestHandler,
  handled: HandledRequest,
  request: Request,
  response: Response,
) => void;

/** How these options settle requests; undefined if the rule needs nothing but the status. */
export function toSettleByResponse(options: ExpressOptions): SettleByResponse | undefined {
  const isCounted = toIsCounted(options);
  if (isCounted === undefined) return undefined;
  const toCost = (counts: boolean) => (counts ? undefined : 0);
  return (requestHandler, handled, request, response) => {
    // "finish" comes before "close", on which the request handler settles.
    response.once("finish", () => {
      try {
        const counts = isCounted(request, response);
        const report = (error: unknown) => void requestHandler.onError(error);
        if (isThenable(counts)) handled.settleLater(counts.then(toCost, report));
        else if (counts === false) handled.settle(0);
      } catch (error) {
        requestHandler.onError(error);
      }
    });
  };
}
