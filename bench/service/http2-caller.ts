// An HTTP/2 connection that makes gRPC calls from frames that were encoded in advance, a fixed number of calls at
// a time. `node:http2` as a client takes more processor time for a call than the servers do. They would be idle
// half of the time and wake up for a few calls each, and the benchmark would measure the waking.

import { connect, type Socket } from "node:net";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const HEAD_BYTES = 9;
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
const WINDOW_BYTES_MAX = 2 ** 31 - 1;
const WINDOW_BYTES_FIRST = 65_535;
/** A message of gRPC begins with this many bytes, even an empty one. */
const GRPC_HEAD_BYTES = 5;

/** A field that the server adds to its table: the index of the name in the static table, or a name, and the value. */
type Field = readonly [name: number | string, value: string];

/** The bytes of a call's response so far, by its stream. */
type Open = Map<number, number>;

/** A connection to `port` for calls of the method `path`. */
export class Http2Caller {
  readonly #socket: Socket;
  readonly #open: Open = new Map();
  readonly #firstHead: Buffer;
  readonly #laterHead: Buffer;
  /** Resolves when the server has accepted the connection and introduced itself. */
  readonly connected: Promise<void>;
  #onConnected: () => void = () => {};
  #received: Buffer = Buffer.alloc(0);
  #out: Buffer[] = [];
  #nextStream = 1;
  #onAnswered: () => void = () => {};
  #onFailed: (error: Error) => void = () => {};

  constructor(port: number, path: string) {
    const fields: readonly Field[] = [
      [4, path],
      [1, `127.0.0.1:${port}`],
      [31, "application/grpc"],
      ["te", "trailers"],
      [58, "bench"],
    ];
    // POST and http are entries 3 and 6 of the static table; what is added first has the highest number later.
    this.#firstHead = Buffer.concat([Buffer.from([0x83, 0x86]), ...fields.map(encodeField)]);
    this.#laterHead = Buffer.from([0x83, 0x86, ...fields.map((_, i) => 0xc2 - i)]);
    this.connected = new Promise((resolve, reject) => {
      this.#onConnected = resolve;
      this.#onFailed = reject;
    });
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const window = Buffer.alloc(4);
    window.writeUInt32BE(WINDOW_BYTES_MAX - WINDOW_BYTES_FIRST);
    const update = toFrame(WINDOW_UPDATE, 0, 0, window);
    this.#socket.write(Buffer.concat([PREFACE, toFrame(SETTINGS, 0, 0), update]));
    this.#socket.on("data", (piece) => this.#take(piece));
    this.#socket.on("error", (error) => this.#onFailed(error));
    this.#socket.on("close", () => this.#onFailed(new Error("the connection was closed")));
  }

  /** Makes this many calls, `atOnce` at a time. `messageOf` gives the message of each, by its number. */
  call(calls: number, atOnce: number, messageOf: (call: number) => Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      let sent = 0;
      let answered = 0;
      this.#onFailed = reject;
      this.#onAnswered = () => {
        answered++;
        if (sent < calls) this.#send(messageOf(sent++));
        else if (answered === calls) resolve();
      };
      while (sent < Math.min(calls, atOnce)) this.#send(messageOf(sent++));
      this.#flush();
    });
  }

  #send(message: Buffer): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#open.set(stream, 0);
    const head = stream === 1 ? this.#firstHead : this.#laterHead;
    this.#out.push(toFrame(HEADERS, END_HEADERS, stream, head));
    this.#out.push(toFrame(DATA, END_STREAM, stream, message));
  }

  #flush(): void {
    if (this.#out.length === 0) return;
    this.#socket.write(Buffer.concat(this.#out));
    this.#out = [];
  }

  #take(piece: Buffer): void {
    let bytes = this.#received.length === 0 ? piece : Buffer.concat([this.#received, piece]);
    while (bytes.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + bytes.readUIntBE(0, 3);
      if (bytes.length < end) break;
      this.#takeFrame(bytes[3], bytes[4], bytes.readUInt32BE(5), bytes.subarray(HEAD_BYTES, end));
      bytes = bytes.subarray(end);
    }
    this.#received = bytes;
    this.#flush();
  }

  #takeFrame(type: number, flags: number, stream: number, body: Buffer): void {
    const isAck = (flags & ACK) !== 0;
    if ((type === SETTINGS || type === PING) && !isAck) {
      this.#out.push(toFrame(type, ACK, 0, type === PING ? body : undefined));
      this.#onConnected();
    }
    if (type === RST_STREAM || type === GOAWAY) {
      this.#onFailed(new Error(`a call ended with a frame of type ${type}`));
    }
    if (type === DATA) this.#open.set(stream, (this.#open.get(stream) ?? 0) + body.length);
    const isEnd = (type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0;
    if (isEnd) this.#end(stream, type);
  }

  /** A call that succeeded has a message, and trailers behind it. */
  #end(stream: number, type: number): void {
    const bytes = this.#open.get(stream) ?? 0;
    this.#open.delete(stream);
    if (type === HEADERS && bytes > GRPC_HEAD_BYTES) this.#onAnswered();
    else this.#onFailed(new Error(`a call was answered with ${bytes} bytes`));
  }
}

function toFrame(type: number, flags: number, stream: number, body?: Buffer): Buffer {
  const bytes = body?.length ?? 0;
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes);
  frame.writeUIntBE(bytes, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
  body?.copy(frame, HEAD_BYTES);
  return frame;
}

/** A literal field with incremental indexing (RFC 7541, 6.2.1). Names and values are short, and not compressed. */
function encodeField([name, value]: Field): Buffer {
  const toText = (text: string) => Buffer.from([text.length, ...Buffer.from(text)]);
  if (typeof name === "number") return Buffer.concat([Buffer.from([0x40 | name]), toText(value)]);
  return Buffer.concat([Buffer.from([0x40]), toText(name), toText(value)]);
}
