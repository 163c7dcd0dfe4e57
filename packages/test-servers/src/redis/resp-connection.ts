// One connection to a Redis server, for commands of the tests themselves. It opens when first
// used, opens again after it broke, and never keeps a process alive that waits for nothing.

import { connect, type Socket } from "node:net";
import { within } from "../clock.js";
import {
  encodeCommand,
  Push,
  RedisError,
  type Reply,
  ReplyReader,
  type TextEncoding,
} from "./resp.js";

/** Where a server listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The longest that one command may take, in milliseconds. */
export const commandMsMax: number = 5_000;

interface Waiter {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** A connection that sends commands in order and matches replies to them. */
export class RespConnection {
  readonly #address: Address;
  readonly #encoding: TextEncoding;
  #socket: Socket | undefined;
  #waiting: Waiter[] = [];

  constructor(address: Address, encoding: TextEncoding = "utf8") {
    this.#address = address;
    this.#encoding = encoding;
  }

  /**
   * Sends one command and returns its reply. Rejects with the `RedisError` that the server
   * answers, or with an error when the connection breaks or no reply comes in five seconds.
   */
  async command(...args: readonly (string | number)[]): Promise<Reply> {
    const answer = new Promise<Reply>((resolve, reject) => {
      this.#open();
      this.#waiting.push({ resolve, reject });
      this.#socket?.ref();
      this.#socket?.write(encodeCommand(args, this.#encoding));
    });
    const what = `${args[0]} on port ${this.#address.port}`;
    const reply = await within(commandMsMax, what, answer).catch((error) => {
      // What comes later would be taken for the reply to another command.
      if (!(error instanceof RedisError)) this.close();
      throw error;
    });
    if (reply instanceof RedisError) throw reply;
    return reply;
  }

  /** Drops the connection; commands that wait fail. The next command opens it again. */
  close(): void {
    this.#drop(new Error(`the connection to port ${this.#address.port} was closed`));
  }

  #open(): void {
    if (this.#socket !== undefined) return;
    const socket = connect(this.#address);
    const reader = new ReplyReader(this.#encoding);
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#receive(reader, chunk));
    socket.on("error", (error) => this.#socket === socket && this.#drop(error));
    socket.on("close", () => this.#socket === socket && this.close());
  }

  #receive(reader: ReplyReader, chunk: Buffer): void {
    for (const reply of reader.push(chunk))
      if (!(reply instanceof Push)) this.#waiting.shift()?.resolve(reply);
    if (this.#waiting.length === 0) this.#socket?.unref();
  }

  #drop(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#socket?.destroy();
    this.#socket = undefined;
    for (const waiter of waiting) waiter.reject(error);
  }
}
