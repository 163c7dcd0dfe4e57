// What the command reads and writes, behind one interface: tests pass lists of lines instead of a
// terminal, and nothing else in this folder touches the process.

import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import type { ProcessLike } from "../../workers/run.js";
import { EXIT } from "../exit.js";

/** Where the command was started from. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whose signals end and reload a service. */
  readonly process: ProcessLike;
  /** Whether a person looks at what is printed. */
  readonly isTty: boolean;
  /** Whether a person looks at what is printed where errors go. */
  readonly isErrorTty: boolean;
  /** Whether what is printed may have colours: a terminal, and `NO_COLOR` is not set. */
  readonly hasColour: boolean;
  /** How wide and how high the terminal is now; 80 by 24 if there is none. */
  size(): { readonly columns: number; readonly rows: number };
  /** Prints as it is, without a line end of its own. */
  write(text: string): void;
  /** Resolves when what was printed has been taken, so that a long output does not fill the memory. */
  drain(): Promise<void>;
  /** Prints where errors go, without a line end of its own. */
  writeError(text: string): void;
  /** All of the standard input, as a string. */
  readInput(): Promise<string>;
  /** The standard input as it comes, for what may not fit into memory. */
  inputChunks(): AsyncIterable<Buffer>;
  /** Asks a question where errors go, and returns whether the answer begins with y. */
  confirm(question: string): Promise<boolean>;
  /** Calls `task` once, when the user wants to end: Ctrl-C or SIGTERM. A second one ends the process. */
  onEnd(task: () => void): () => void;
  /** Calls `task` when the reader of the output is gone, as after `sluice top | head -1`. */
  onUnread(task: () => void): () => void;
}

/** Prints one line. */
export function writeLine(terminal: Terminal, line: string): void {
  terminal.write(`${line}\n`);
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
const COLUMNS = 80;
const ROWS = 24;

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { env, stdout, stderr, stdin } = process;
  stdout.on("error", onLostOutput(process));
  return {
    env,
    process,
    isTty: stdout.isTTY === true,
    isErrorTty: stderr.isTTY === true,
    hasColour: stdout.isTTY === true && !env.NO_COLOR,
    size: () => ({ columns: stdout.columns || COLUMNS, rows: stdout.rows || ROWS }),
    write: (text) => void stdout.write(text),
    drain: async () => {
      if (stdout.writableNeedDrain) await once(stdout, "drain");
    },
    writeError: (text) => void stderr.write(text),
    readInput: () => text(stdin),
    inputChunks: () => stdin as AsyncIterable<Buffer>,
    confirm: async (question) => {
      const lines = createInterface({ input: stdin, output: stderr });
      // An input that ends has no answer, which is a no.
      const ended = once(lines, "close").then(() => "");
      const answer = await Promise.race([lines.question(question), ended]);
      lines.close();
      return /^y/i.test(answer.trim());
    },
    onEnd,
    onUnread,
  };
}

function onEnd(task: () => void): () => void {
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
  const end = () => {
    stop();
    task();
  };
  for (const signal of SIGNALS) process.on(signal, end);
  return stop;
}

/**
 * What happens when output can't be written. A reader that went away, as after `| head` or with its terminal, has all that
 * it wants; anything else, such as a full disk, must not look like success.
 */
function onLostOutput(process: NodeJS.Process): (error: NodeJS.ErrnoException) => void {
  const { stdout, stderr } = process;
  let isSaid = false;
  return ({ code, message }) => {
    if (code === "EPIPE" || stdout.isTTY === true || isSaid) return;
    isSaid = true;
    // Errors may go to the same disk.
    stderr.on("error", () => {});
    stderr.write(`sluice: the output can't be written: ${message}\n`);
    // Last of all, since the command may have yet to say that it succeeded.
    process.on("exit", () => {
      process.exitCode = EXIT.usage;
    });
  };
}

function onUnread(task: () => void): () => void {
  process.stdout.on("error", task);
  return () => void process.stdout.off("error", task);
}
