// A client that writes bytes exactly as given, right or wrong, and keeps what comes back: what no HTTP
// library would send has to be sent to see what the gateway makes of it.

import { connect, type Socket } from "node:net";
import { startTimer } from "./clock.js";

/** How long an answer may take on a machine with other work, in milliseconds. */
const ANSWER_MS_MAX = 15_000;

/** A connection of its own to a server on this machine. */
export class RawClient {
  readonly socket: Socket;
  /** All that came, one character for each byte. */
  text = "";
  /** Whether the server has closed the connection, by an end or a reset. */
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (piece: string) => {
      this.text += piece;
    });
    const close = () => {
      this.isClosed = true;
    };
    socket.on("end", close).on("close", close).on("error", close);
  }

  /** Writes bytes, one for each character. */
  send(text: string): this {
    if (this.socket.writable) this.socket.write(text, "latin1");
    return this;
  }

  /** Resolves once `isThere` holds of all that came; rejects if the connection closes before, or it takes too long. */
  async until(isThere: (text: string) => boolean): Promise<string> {
    await this.#wait(() => isThere(this.text) || this.isClosed);
    if (!isThere(this.text)) throw new Error(`closed before, after ${JSON.stringify(this.text)}`);
    return this.text;
  }

  /** Resolves with all that came once the server has closed the connection. */
  async closed(): Promise<string> {
    await this.#wait(() => this.isClosed);
    return this.text;
  }

  end(): void {
    this.socket.destroy();
  }

  #wait(isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const seen = () => JSON.stringify(this.text.slice(0, 500));
      const fail = () => reject(new Error(`nothing for ${ANSWER_MS_MAX} ms, after ${seen()}`));
      const stopTimer = startTimer(ANSWER_MS_MAX, fail);
      const look = () => {
        if (!isDone()) return;
        stopTimer();
        this.socket.off("data", look).off("end", look).off("close", look).off("error", look);
        resolve();
      };
      this.socket.on("data", look).on("end", look).on("close", look).on("error", look);
      look();
    });
  }
}

/** Connects to a server by its URL. */
export async function connectTo(url: string): Promise<RawClient> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), allowHalfOpen: true });
  await new Promise<void>((resolve, reject) =>
    socket.once("connect", resolve).once("error", reject),
  );
  socket.setNoDelay(true);
  return new RawClient(socket);
}

/** Sends bytes over a new connection and answers all that came back until the server closed it. */
export async function rawExchange(url: string, text: string): Promise<string> {
  const client = await connectTo(url);
  const answer = await client.send(text).closed();
  client.end();
  return answer;
}
