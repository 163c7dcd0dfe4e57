// The server against clients that don't keep to the protocol, frame by frame.

import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import { memoryInUse } from "sluice-test-servers";
import { expect, it, vi } from "vitest";
import { later } from "../../../test/envoy-harness.js";
import { connectFrames } from "../../../test/http2-frames.js";
import { CONNECTION_BYTES_MAX, MESSAGE_BYTES_MAX } from "./message.js";
import { fail, reply, STATUS } from "./replies.js";
import { type GrpcMethod, GrpcServer } from "./server.js";

const answers: (() => void)[] = [];

const methods = new Map<string, GrpcMethod>([
  ["/echo", reply],
  ["/later", (stream, message) => void answers.push(() => reply(stream, message))],
  ["/fail", (stream) => fail(stream, STATUS.notFound, "100% não\n\ud800")],
  [
    "/throw",
    () => {
      throw new Error("a secret of the inside");
    },
  ],
]);

async function open({ slowCallMs = 60_000 } = {}) {
  const server = new GrpcServer(methods, { slowCallMs });
  later(() => server.close());
  const at = await server.listen({ host: "127.0.0.1", port: 0 });
  const port = Number(at.split(":")[1]);
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  later(() => session.destroy());
  return { server, port, session };
}

const HEAD = { ":method": "POST", ":path": "/echo", "content-type": "application/grpc" };

function begin(session: ClientHttp2Session, head: Record<string, string> = {}): ClientHttp2Stream {
  const stream = session.request({ ...HEAD, ...head });
  stream.on("error", () => {});
  return stream;
}

/** What came back: the HTTP status, the status of gRPC and the bytes. */
async function read(stream: ClientHttp2Stream) {
  const seen: Record<string, unknown> = {};
  const pieces: Buffer[] = [];
  stream.on("response", (headers) => Object.assign(seen, headers));
  stream.on("trailers", (trailers) => Object.assign(seen, trailers));
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  await once(stream, "close");
  const status = seen["grpc-status"] === undefined ? undefined : Number(seen["grpc-status"]);
  return {
    http: seen[":status"],
    status,
    details: seen["grpc-message"],
    body: Buffer.concat(pieces),
  };
}

function ask(session: ClientHttp2Session, body: Buffer, head?: Record<string, string>) {
  const stream = begin(session, head);
  stream.end(body);
  return read(stream);
}

function frame(message: Buffer, flag = 0): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const hello = frame(Buffer.from("hello"));

it("answers a message, however it is cut into pieces", async () => {
  const { session } = await open();
  expect(await ask(session, hello)).toMatchObject({ http: 200, status: 0, body: hello });
  const stream = begin(session);
  const answer = read(stream);
  for (const byte of hello) stream.write(Buffer.from([byte]));
  stream.end();
  expect(await answer).toMatchObject({ status: 0, body: hello });
  expect(await ask(session, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
});

it.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
])("reads a message that is compressed with %s", async (encoding, compress) => {
  const { session } = await open();
  const body = frame(compress(Buffer.from("hello")), 1);
  expect(await ask(session, body, { "grpc-encoding": encoding })).toMatchObject({ body: hello });
});

it.each<[string, Buffer, Record<string, string>, object]>([
  ["no message", Buffer.alloc(0), {}, { status: STATUS.invalidArgument }],
  ["less than a frame", Buffer.from([0, 0, 0]), {}, { status: STATUS.invalidArgument }],
  ["a message that is cut off", hello.subarray(0, 8), {}, { status: STATUS.invalidArgument }],
  ["two messages", Buffer.concat([hello, hello]), {}, { status: STATUS.invalidArgument }],
  [
    "a length of 4 GiB",
    Buffer.from([0, 255, 255, 255, 255]),
    {},
    { status: STATUS.invalidArgument },
  ],
  [
    "a message beyond its bound",
    Buffer.alloc(MESSAGE_BYTES_MAX + 6),
    {},
    { status: STATUS.resourceExhausted },
  ],
  [
    "a message far beyond its bound",
    Buffer.alloc(20 * MESSAGE_BYTES_MAX),
    {},
    { status: STATUS.resourceExhausted },
  ],
  [
    "much for an unknown method",
    Buffer.alloc(1_000_000),
    { ":path": "/other" },
    { status: STATUS.unimplemented },
  ],
  [
    "an unknown compression",
    frame(hello, 1),
    { "grpc-encoding": "zstd" },
    { status: STATUS.unimplemented },
  ],
  ["a compression that is not named", frame(hello, 1), {}, { status: STATUS.unimplemented }],
  [
    "what is not compressed as it says",
    frame(hello, 1),
    { "grpc-encoding": "gzip" },
    { status: STATUS.invalidArgument },
  ],
  [
    "a little that becomes very much",
    frame(gzipSync(Buffer.alloc(10_000_000)), 1),
    { "grpc-encoding": "gzip" },
    { status: STATUS.resourceExhausted },
  ],
  ["an unknown method", hello, { ":path": "/other" }, { status: STATUS.unimplemented }],
  ["another content type", hello, { "content-type": "application/json" }, { http: 415 }],
  ["another method of HTTP", hello, { ":method": "PUT" }, { http: 405 }],
  [
    "a method that throws",
    hello,
    { ":path": "/throw" },
    { status: STATUS.internal, details: "the call could not be answered" },
  ],
])("%s is answered as such, and the connection goes on", async (_, body, head, expected) => {
  const { session, server } = await open();
  expect(await ask(session, body, head)).toMatchObject(expected);
  expect(await ask(session, hello)).toMatchObject({ status: 0, body: hello });
  expect(server.waitingCount).toBe(0);
});

it("says details in a form that a header can carry", async () => {
  const { session } = await open();
  const { details } = await ask(session, hello, { ":path": "/fail" });
  expect(details).toBe("100%25 n%C3%A3o%0A%EF%BF%BD");
  expect(decodeURIComponent(details as string)).toBe("100% não\n\uFFFD");
});

it("resets a call whose message does not come, and no other", async () => {
  const { session, server } = await open({ slowCallMs: 50 });
  const slow = begin(session);
  const closed = once(slow, "close");
  slow.write(hello.subarray(0, 3));
  await closed;
  expect(slow.rstCode).toBe(8);
  expect(server.waitingCount).toBe(0);
  expect(await ask(session, hello)).toMatchObject({ status: 0 });
});

it("resets a call whose answer is not taken, and none that is not answered yet", async () => {
  const { session, port } = await open({ slowCallMs: 100 });
  const working = begin(session, { ":path": "/later" });
  const answer = read(working);
  working.end(hello);
  await vi.waitUntil(() => answers.length === 1);
  // Nothing but headers fits into a window of 0 bytes.
  const deaf = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  later(() => deaf.destroy());
  const stuck = begin(deaf);
  const closed = once(stuck, "close");
  stuck.end(hello);
  await closed;
  expect(stuck.rstCode).toBe(8);
  answers.splice(0).forEach((send) => void send());
  expect(await answer).toMatchObject({ status: 0, body: hello });
});

it("closes a connection whose client says nothing, and none that is idle", async () => {
  const { session, port } = await open({ slowCallMs: 100 });
  expect(await ask(session, hello)).toMatchObject({ status: 0 });
  const silent = connectSocket(port, "127.0.0.1");
  silent.resume();
  await once(silent, "close");
  expect(session.closed).toBe(false);
  expect(await ask(session, hello)).toMatchObject({ status: 0 });
});

it("holds messages that come byte by byte in little more memory than they have bytes", async () => {
  const { server, port } = await open();
  const client = await connectFrames(port);
  later(() => client.socket.destroy());
  const before = memoryInUse();
  for (let stream = 1; stream < 16; stream += 2) {
    client.begin(stream, "/echo");
    await client.sendBytes(stream, 60_000);
  }
  await vi.waitUntil(() => server.waitingCount === 8, { timeout: 20_000 });
  expect(memoryInUse() - before).toBeLessThan(3_000_000);
});

it("bounds what the calls of one connection hold together, and no other connection", async () => {
  const { session, port } = await open();
  const message = frame(Buffer.alloc(MESSAGE_BYTES_MAX - 10_000));
  const fits = Math.floor(CONNECTION_BYTES_MAX / MESSAGE_BYTES_MAX);
  const calls = Array.from({ length: fits + 4 }, () => begin(session));
  const answers = calls.map((call) => read(call));
  let refusals = 0;
  for (const call of calls) {
    call.on("response", () => refusals++);
    call.write(message.subarray(0, -1));
  }
  await vi.waitUntil(() => refusals >= 4, { timeout: 20_000 });
  const other = connect(`http://127.0.0.1:${port}`);
  later(() => other.destroy());
  expect(await ask(other, hello)).toMatchObject({ status: 0 });
  for (const call of calls) call.end(message.subarray(-1));
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([STATUS.ok, STATUS.resourceExhausted]));
  expect(statuses.filter((status) => status === STATUS.ok).length).toBeLessThanOrEqual(fits);
  // All of it was freed: as much fits again.
  for (let i = 0; i < fits + 1; i++) {
    expect(await ask(session, message)).toMatchObject({ status: 0 });
  }
});

it("forgets calls that are reset and connections that are cut", async () => {
  const { session, server, port } = await open();
  const reset = begin(session);
  reset.write(hello.subarray(0, 3));
  const other = connect(`http://127.0.0.1:${port}`);
  other.on("error", () => {});
  for (let i = 0; i < 50; i++) begin(other).write(hello.subarray(0, 3));
  await vi.waitUntil(() => server.waitingCount === 51, { timeout: 20_000 });
  reset.close(8);
  other.destroy();
  await vi.waitUntil(() => server.waitingCount === 0, { timeout: 20_000 });
  expect(await ask(session, hello)).toMatchObject({ status: 0 });
});

it.each([
  ["HTTP/1.1", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["noise", "\0\u0001\u0002 anything \xff\xfe\r\n\r\n".repeat(50)],
  ["frames of noise", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\xff".repeat(500)}`],
])("%s ends its connection and no other", async (_, text) => {
  const { session, port } = await open();
  const socket = connectSocket(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  const closed = once(socket, "close");
  socket.write(text, "latin1");
  await closed;
  expect(await ask(session, hello)).toMatchObject({ status: 0 });
});
