// The process that sends calls: `envoy-load.js PORT,… ADDRESSES`. When its parent sends it a number, it makes that
// many calls, a fixed number at a time on each connection, and reports when all of them were answered.

import { once } from "node:events";
import { connect } from "node:http2";
import { METHOD } from "./envoy-server.js";
import { Http2Caller } from "./http2-caller.js";

const CONNECTIONS = 4;
const CALLS_AT_ONCE = 16;
/** Callers of one connection ask for addresses that lie so far apart. */
const ADDRESSES_APART = 61;
const ADDRESSES = Number(process.argv[3] ?? 1_000);

const messages = Array.from({ length: ADDRESSES }, (_, i) =>
  toMessage(`10.0.${i >> 8}.${i & 255}`),
);

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  const connecting = connectCallers((process.argv[2] ?? "").split(",").map(Number));
  process.on("disconnect", () => process.exit(0));
  process.on("message", async (calls) => {
    const callers = await connecting;
    const share = Math.ceil((calls as number) / CONNECTIONS);
    await Promise.all(callers.map((caller) => caller.call(share, CALLS_AT_ONCE, messageOf)));
    process.send?.(share * CONNECTIONS);
  });
}

/** One after the other, so that a service with several processes gives each of them as many. */
async function connectCallers(ports: readonly number[]): Promise<Http2Caller[]> {
  for (const port of ports) await checkCall(port);
  const callers: Http2Caller[] = [];
  while (callers.length < CONNECTIONS) {
    const caller = new Http2Caller(ports[callers.length % ports.length], METHOD);
    await caller.connected;
    callers.push(caller);
  }
  return callers;
}

function messageOf(call: number): Buffer {
  const turn = Math.floor(call / CALLS_AT_ONCE);
  return messages[((call % CALLS_AT_ONCE) * ADDRESSES_APART + turn) % ADDRESSES];
}

/** One call by a complete client; throws unless it has a message and the status 0. */
async function checkCall(port: number): Promise<void> {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({
    ":method": "POST",
    ":path": METHOD,
    "content-type": "application/grpc",
    te: "trailers",
  });
  let bytes = 0;
  let status: unknown;
  stream.on("data", (piece: Buffer) => {
    bytes += piece.length;
  });
  stream.on("trailers", (trailers) => {
    status = trailers["grpc-status"];
  });
  stream.end(messages[0]);
  await once(stream, "close");
  session.close();
  if (bytes <= 5 || status !== "0") {
    throw new Error(`a call ended with status ${status} and ${bytes} bytes`);
  }
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
