// A server in front of a server: it hands commands on, and answers some of them itself. So a test
// can show what a real server says only at moments that can't be timed, and count what was asked.

import { createServer, type Server, type Socket } from "node:net";
import { RedisError, type RedisProcess, type Reply, RespConnection } from "sluice-test-servers";

/** Answers a command instead of the server: a reply, an error to send, or undefined to hand it on. */
export type Intercept = (command: readonly string[]) => Reply | undefined;

/** A running interceptor. */
export class Interceptor {
  readonly host = "127.0.0.1";
  /** How often each command was asked for, by its name in upper case. */
  readonly asked: Record<string, number> = {};
  intercept: Intercept = () => undefined;
  readonly #behind: RedisProcess;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** Use {@link startInterceptor}. */
  constructor(behind: RedisProcess) {
    this.#behind = behind;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, this.host, resolve));
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    // Each client has a connection of its own behind it, so that its commands stay in order.
    const behind = new RespConnection(this.#behind, "latin1");
    this.#sockets.add(socket);
    let rest = "";
    let answered: Promise<void> = Promise.resolve();
    socket.setEncoding("latin1");
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      behind.close();
    });
    socket.on("data", (chunk: string) => {
      const { commands, left } = parseCommands(rest + chunk);
      rest = left;
      for (const command of commands) {
        answered = answered.then(async () => {
          const reply = await this.#answer(behind, command);
          socket.write(encode(reply), "latin1");
        });
      }
    });
  }

  async #answer(behind: RespConnection, command: readonly string[]): Promise<Reply> {
    const name = (command[0] as string).toUpperCase();
    this.asked[name] = (this.asked[name] ?? 0) + 1;
    const instead = this.intercept(command);
    if (instead !== undefined) return instead;
    return behind.command(...command).catch((error: unknown) => error as RedisError);
  }
}

/** Starts an interceptor that hands everything on until a test says otherwise. */
export async function startInterceptor(behind: RedisProcess): Promise<Interceptor> {
  const interceptor = new Interceptor(behind);
  await interceptor.listen();
  return interceptor;
}

/** Whole commands at the beginning of a string, and what is left of it. */
function parseCommands(text: string): { commands: string[][]; left: string } {
  const commands: string[][] = [];
  let from = 0;
  for (;;) {
    const parsed = parseCommand(text, from);
    if (parsed === undefined) return { commands, left: text.slice(from) };
    commands.push(parsed.command);
    from = parsed.end;
  }
}

function parseCommand(text: string, from: number): { command: string[]; end: number } | undefined {
  const line = (at: number) => text.indexOf("\r\n", at);
  if (line(from) < 0) return undefined;
  const count = Number(text.slice(from + 1, line(from)));
  const command: string[] = [];
  let at = line(from) + 2;
  for (let i = 0; i < count; i++) {
    if (line(at) < 0) return undefined;
    const length = Number(text.slice(at + 1, line(at)));
    const start = line(at) + 2;
    if (text.length < start + length + 2) return undefined;
    command.push(text.slice(start, start + length));
    at = start + length + 2;
  }
  return { command, end: at };
}

function encode(reply: Reply): string {
  if (reply instanceof Error) return `-${reply.message}\r\n`;
  if (Array.isArray(reply)) return `*${reply.length}\r\n${reply.map(encode).join("")}`;
  if (typeof reply === "number") return `:${reply}\r\n`;
  return reply === null ? "$-1\r\n" : `$${String(reply).length}\r\n${String(reply)}\r\n`;
}

/** Answers commands of these names with an error, this many times. */
export function refusing(message: string, names: readonly string[], timesMax: number): Intercept {
  let times = 0;
  return (command) => {
    const isMeant = names.includes((command[0] as string).toUpperCase());
    return isMeant && times++ < timesMax ? new RedisError(message) : undefined;
  };
}
