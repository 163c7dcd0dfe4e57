/**
 * For adapters of your own: a request handler that decides requests of any server, and what goes in and out of it.
 * Adapters of frameworks exist already: `sluice/express` and the others.
 *
 * @module
 */

export type * from "./adapter-types.js";
export { CHALLENGE_DEFAULTS, DIFFICULTY, LIFETIME_MS } from "./challenge/challenge-options.js";
export { solveChallenge } from "./challenge/proof-of-work.js";
export { NodeHttpRequest, sendNodeReply } from "./exchange/node/node-exchange.js";
export { joinHead } from "./exchange/node/response-head.js";
export { createRequestHandler } from "./handler/create-handler.js";
export { HandledRequest } from "./handler/handled-request.js";
export type { RequestHandler } from "./handler/handler.js";
export { type ReportCaller, toJsonReply } from "./handler/rate-limit-endpoint.js";
export { resolveSentKey } from "./identity/api-keys/key-resolver.js";
export { parseBody, toBodyForm } from "./identity/body/body.js";
export { readNodeBody } from "./identity/body/node-body.js";
export { hashSecret } from "./identity/secrets.js";
export type { Refusal, WholeResponse } from "./response/refusal.js";
export { eachField, type HeaderFields, toFields, toLines } from "./response/response-headers.js";
export type { BodyHeaders, BodyMeter } from "./response-cost/body-meter.js";
