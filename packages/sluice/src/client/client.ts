/**
 * A well-behaved client: a `fetch`, and an interceptor of undici, that honour Retry-After and the RateLimit headers, slow
 * down before they are refused, and retry only what is safe to retry. It imports nothing from Node.js, so it works in
 * browsers and workers too.
 *
 * @module
 */

export type { Priority } from "../adaptive/priority.js";
export type { ClientOptions, PartitionedRequest } from "./client-options.js";
export type { ClientEvent, ClientStats, GiveUpReason, OriginStats } from "./events.js";
export { type ClientFetch, createFetch, type FetchOptions } from "./fetch/create-fetch.js";
export type { FetchFunction, RequestControls } from "./fetch/fetch-request.js";
export { type ClientInterceptor, createInterceptor } from "./undici/create-interceptor.js";
