// What a gRPC server writes to an HTTP/2 stream: messages with their length in front, and a status in the trailers.

import type { ServerHttp2Stream } from "node:http2";

/** The statuses of gRPC that are answered here, by their numbers. */
export const STATUS = {
  ok: 0,
  invalidArgument: 3,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
} as const;

/** A number of {@link STATUS}. */
export type Status = (typeof STATUS)[keyof typeof STATUS];

/** Bytes before each message: whether it is compressed, and its length. */
export const PREFIX_BYTES = 5;

const HEAD = {
  ":status": 200,
  "content-type": "application/grpc+proto",
  "grpc-accept-encoding": "identity,gzip,deflate",
};
const WITH_TRAILERS = { waitForTrailers: true };
const OK_TRAILERS = { "grpc-status": "0" };
// What a status may say as it is; everything else is escaped.
const UNSAFE = /[^ -$&-~]/gu;

/** Answers a call with one message and the status OK. */
export function reply(stream: ServerHttp2Stream, message: Buffer): void {
  if (begin(stream)) stream.end(toFrame(message));
}

/** Begins a reply of several messages, unless the client is gone. End it with `stream.end()`. */
export function begin(stream: ServerHttp2Stream): boolean {
  if (isAnswered(stream)) return false;
  stream.respond(HEAD, WITH_TRAILERS);
  stream.on("wantTrailers", sendOk);
  return true;
}

/** Sends one of several messages. */
export function send(stream: ServerHttp2Stream, message: Buffer): void {
  if (!isGone(stream)) stream.write(toFrame(message));
}

/** Answers a call with a status and no message. */
export function fail(stream: ServerHttp2Stream, status: Status, details: string): void {
  if (isAnswered(stream)) return;
  const said = { "grpc-status": String(status), "grpc-message": details.replace(UNSAFE, toEscape) };
  stream.respond({ ...HEAD, ...said }, { endStream: true });
}

/** Answers what is not a gRPC call. */
export function refuse(stream: ServerHttp2Stream, httpStatus: number): void {
  if (!isAnswered(stream)) stream.respond({ ":status": httpStatus }, { endStream: true });
}

function isAnswered(stream: ServerHttp2Stream): boolean {
  return stream.headersSent || isGone(stream);
}

/** Whether the client is gone. */
function isGone(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.closed || stream.writableEnded;
}

// One function for all streams: none has to be made for each.
function sendOk(this: ServerHttp2Stream): void {
  this.sendTrailers(OK_TRAILERS);
}

function toFrame(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, PREFIX_BYTES);
  return frame;
}

function toEscape(character: string): string {
  // Half of a pair has no UTF-8.
  return encodeURIComponent(/\p{Cs}/u.test(character) ? "\uFFFD" : character);
}
