// HTTP/2 frame by frame, for what no client library sends: bodies in frames of one byte.

import { once } from "node:events";
import { connect, type Socket } from "node:net";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const TYPE = { data: 0, headers: 1, settings: 4, windowUpdate: 8 };
const END_HEADERS = 4;
const HEAD_BYTES = 9;
/** The initial flow-control window of a connection. */
const WINDOW_BYTES = 65_535;

/** A connection whose frames the test writes. */
export class FrameClient {
  readonly socket: Socket;
  #window = WINDOW_BYTES;
  #ahead = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (bytes) => this.#read(bytes)).on("error", () => {});
    socket.write(Buffer.concat([Buffer.from(PREFACE), toFrame(TYPE.settings, 0, 0)]));
  }

  /** Begins a call of gRPC on a stream, which has an odd number. */
  begin(stream: number, path: string): void {
    // `POST` and `http` by their places in the static table; of the others the name is there.
    const block = [[0x83, 0x86], toField([0x01], "localhost"), toField([0x04], path)];
    block.push(toField([0x0f, 0x10], "application/grpc"));
    this.socket.write(toFrame(TYPE.headers, END_HEADERS, stream, Buffer.from(block.flat())));
  }

  /** Sends zeros on a stream, each in a frame of its own, as fast as the server takes them. */
  async sendBytes(stream: number, count: number): Promise<void> {
    const one = toFrame(TYPE.data, 0, stream, Buffer.alloc(1));
    for (let left = count; left > 0; ) {
      const now = Math.min(left, this.#window, 1_000);
      if (now === 0) await once(this.socket, "data");
      else if (!this.socket.write(Buffer.alloc(now * one.length, one))) {
        await once(this.socket, "drain");
      }
      this.#window -= now;
      left -= now;
    }
  }

  #read(bytes: Buffer): void {
    let rest = Buffer.concat([this.#ahead, bytes]);
    while (rest.length >= HEAD_BYTES && rest.length >= HEAD_BYTES + rest.readUIntBE(0, 3)) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3);
      const isForAll = rest.readUInt32BE(5) === 0;
      if (rest[3] === TYPE.windowUpdate && isForAll) this.#window += rest.readUInt32BE(HEAD_BYTES);
      rest = rest.subarray(end);
    }
    this.#ahead = rest;
  }
}

/** Connects to a server on this machine. */
export async function connectFrames(port: number): Promise<FrameClient> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return new FrameClient(socket);
}

/** A field whose name is known by its place, with a value of fewer than 127 characters. */
function toField(place: readonly number[], value: string): number[] {
  return [...place, value.length, ...Buffer.from(value)];
}

function toFrame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
