// A terminal for tests: keeps what is printed, and ends when asked to.

import { EventEmitter } from "node:events";
import { runCommand } from "../../src/cli/program.js";
import type { Terminal } from "../../src/cli/terminal/terminal.js";

/** What a test may say of its terminal. */
export interface FakeOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer | AsyncIterable<Buffer>;
  readonly isTty?: boolean;
  readonly isErrorTty?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** A terminal that keeps what is printed. */
export class FakeTerminal implements Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly process = Object.assign(new EventEmitter(), { exit: () => {} });
  readonly isTty: boolean;
  readonly isErrorTty: boolean;
  readonly hasColour: boolean;
  out = "";
  err = "";
  readonly #options: FakeOptions;
  #watchers: (() => void)[] = [];

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    this.env = options.env ?? {};
    this.isTty = options.isTty ?? false;
    this.isErrorTty = options.isErrorTty ?? false;
    this.hasColour = this.isTty;
  }

  size(): { columns: number; rows: number } {
    return { columns: this.#options.columns ?? 80, rows: this.#options.rows ?? 24 };
  }

  write(text: string): void {
    this.out += text;
    this.#notify();
  }

  async drain(): Promise<void> {}

  writeError(text: string): void {
    this.err += text;
    this.#notify();
  }

  async readInput(): Promise<string> {
    return String(this.#options.input ?? "");
  }

  async *inputChunks(): AsyncGenerator<Buffer> {
    const { input = "" } = this.#options;
    if (typeof input === "string" || Buffer.isBuffer(input)) yield Buffer.from(input as string);
    else yield* input;
  }

  async confirm(question: string): Promise<boolean> {
    this.writeError(question);
    return /^y/i.test(String(this.#options.input ?? ""));
  }

  onEnd(task: () => void): () => void {
    this.process.once("SIGINT", task);
    return () => void this.process.off("SIGINT", task);
  }

  onUnread(task: () => void): () => void {
    this.process.once("unread", task);
    return () => void this.process.off("unread", task);
  }

  /** How many wait for the end: none once a command has cleaned up. */
  get listeners(): number {
    return this.process.listenerCount("SIGINT");
  }

  /** As Ctrl-C does. */
  end(): void {
    this.process.emit("SIGINT", "SIGINT");
  }

  /** Resolves once what was printed fits. */
  async until(fits: (terminal: FakeTerminal) => boolean): Promise<void> {
    while (!fits(this)) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  #notify(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher();
  }
}

/** Runs the command to its end. */
export async function sluice(
  args: readonly string[],
  options: FakeOptions = {},
): Promise<{ code: number; out: string; err: string }> {
  const terminal = new FakeTerminal(options);
  const code = await runCommand(args, terminal);
  return { code, out: terminal.out, err: terminal.err };
}
