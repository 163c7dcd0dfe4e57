// A server that speaks as much of PostgreSQL's protocol as a client needs to ask for its version, so that tests can meet
// an old one without its package.

import { type AddressInfo, createServer, type Socket } from "node:net";

/** A PostgreSQL of another version than the installed one. */
export interface OldPostgres {
  readonly url: string;
  /** What it was asked, in this order. */
  readonly statements: readonly string[];
  close(): Promise<void>;
}

/** Its version as `server_version` and `server_version_num` have it. */
export interface PostgresVersion {
  readonly name: string;
  readonly release: string;
}

const TEXT = 25;
const READY = toMessage("Z", Buffer.from("I"));

/** Starts a server that answers every statement with its version. */
export async function startOldPostgres({ name, release }: PostgresVersion): Promise<OldPostgres> {
  const statements: string[] = [];
  const sockets = new Set<Socket>();
  const hello = Buffer.concat([toMessage("R", int32(0)), READY]);
  const answer = Buffer.concat([toRow({ name, release }), READY]);
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    readMessages(socket, (type, body) => {
      if (type === "startup") socket.write(hello);
      if (type !== "Q") return;
      statements.push(body.toString("utf8", 0, body.length - 1));
      socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://sluice@127.0.0.1:${port}/sluice`,
    statements,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Calls back for each whole message. The first has no type. */
function readMessages(socket: Socket, onMessage: (type: string, body: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  let typeBytes = 0;
  socket.on("data", (data: Buffer) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const head = typeBytes + 4;
      const bytes = rest.length < head ? head : typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < bytes) return;
      const type = typeBytes === 0 ? "startup" : String.fromCharCode(rest[0] ?? 0);
      const body = rest.subarray(head, bytes);
      rest = rest.subarray(bytes);
      typeBytes = 1;
      onMessage(type, body);
    }
  });
}

/** The description of a row of strings, the row, and the end of the answer. */
function toRow(row: Readonly<Record<string, string>>): Buffer {
  const fields = Object.entries(row);
  const described = fields.map(([name]) =>
    Buffer.concat([toText(name), int32(0), int16(0), int32(TEXT), int16(-1), int32(-1), int16(0)]),
  );
  const values = fields.map(([, value]) =>
    Buffer.concat([int32(value.length), Buffer.from(value)]),
  );
  return Buffer.concat([
    toMessage("T", int16(fields.length), ...described),
    toMessage("D", int16(fields.length), ...values),
    toMessage("C", toText("SELECT 1")),
  ]);
}

function toMessage(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function toText(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
