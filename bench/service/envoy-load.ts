// The process that asks: `envoy-load.js PORT ADDRESSES`. When its parent sends it a number, it makes that many calls, a
// fixed number of them at a time on each connection, and reports when all were answered. Plain HTTP/2 with messages
// made beforehand, since a gRPC library would need more processor time than the servers do.

import { type ClientHttp2Session, connect } from "node:http2";
import { METHOD } from "./envoy-server.js";

const CONNECTIONS = 4;
const CALLS_AT_ONCE = 16;
const ADDRESSES = Number(process.argv[3] ?? 1_000);

const messages = Array.from({ length: ADDRESSES }, (_, i) =>
  toMessage(`10.0.${i >> 8}.${i & 255}`),
);
const head = {
  ":method": "POST",
  ":path": METHOD,
  "content-type": "application/grpc",
  te: "trailers",
  "user-agent": "bench",
};

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  const sessions = Array.from({ length: CONNECTIONS }, () =>
    connect(`http://127.0.0.1:${process.argv[2]}`),
  );
  process.on("disconnect", () => process.exit(0));
  process.on("message", async (calls) => {
    const share = Math.ceil((calls as number) / (CONNECTIONS * CALLS_AT_ONCE));
    await Promise.all(sessions.flatMap((session) => startCallers(session, share)));
    process.send?.(share * CONNECTIONS * CALLS_AT_ONCE);
  });
}

function startCallers(session: ClientHttp2Session, calls: number): Promise<void>[] {
  return Array.from({ length: CALLS_AT_ONCE }, (_, i) => callOften(session, calls, 61 * i));
}

async function callOften(session: ClientHttp2Session, calls: number, first: number): Promise<void> {
  for (let i = 0; i < calls; i++) await call(session, messages[(first + i) % ADDRESSES]);
}

/** One call; rejects unless it has a message and the status 0. */
function call(session: ClientHttp2Session, message: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request(head);
    let bytes = 0;
    let status: unknown;
    stream.on("data", (piece: Buffer) => {
      bytes += piece.length;
    });
    stream.on("trailers", (trailers) => {
      status = trailers["grpc-status"];
    });
    stream.on("error", reject);
    stream.on("close", () => {
      if (bytes > 5 && status === "0") resolve();
      else reject(new Error(`a call ended with status ${status} and ${bytes} bytes`));
    });
    stream.end(message);
  });
}

/** `domain: bench`, and one descriptor `remote_address=…`, as gRPC frames it. */
function toMessage(address: string): Buffer {
  const field = (number: number, value: Buffer) =>
    Buffer.concat([Buffer.from([(number << 3) | 2, value.length]), value]);
  const text = (number: number, value: string) => field(number, Buffer.from(value));
  const entry = field(1, Buffer.concat([text(1, "remote_address"), text(2, address)]));
  const message = Buffer.concat([text(1, "bench"), field(2, entry)]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}
