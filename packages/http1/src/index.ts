// The HTTP/1.1 reader and writer: a server for requests, and a parser for responses. README.md says where to start.

export { type ChunkSink, LAST_CHUNK, writeChunk } from "./message/chunks.js";
export { MalformedMessage, type RefusalStatus } from "./message/malformed-message.js";
export { toPassedFields } from "./request/passed-fields.js";
export type { BodyReader, OnHeld, RequestBody } from "./request/request-body.js";
export {
  type BodyFraming,
  FieldsMemoKey,
  type HeaderValues,
  type RequestFields,
} from "./request/request-fields.js";
export { type RequestTarget, readRequestTarget } from "./request/request-target.js";
export { reasonPhraseOf } from "./response/reason-phrase.js";
export {
  type ResponseHead,
  ResponseHeadReader,
  readResponseHead,
} from "./response/response-head.js";
export { type RequestKind, ResponseParser, type ResponseSink } from "./response/response-parser.js";
export type { Exchange, ExchangeWatcher } from "./server/exchange.js";
export { RepeatedReply } from "./server/repeated-reply.js";
export { type Http1Bounds, type Http1Handler, Http1Server } from "./server/server.js";
