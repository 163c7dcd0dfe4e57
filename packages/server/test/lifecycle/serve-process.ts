// `sluice serve` as a process of its own, as it is built: started with a configuration, watched by its log,
// ended by signals.

import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { makeFolder } from "sluice-test-servers";

const COMMAND = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** How long something may take on a machine with other work. */
const WAIT_MS_MAX = 60_000;

/** A line of the log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

/** A running `sluice serve`. */
export class ServeProcess {
  readonly child: ChildProcess;
  readonly log: LogLine[] = [];
  /** What was written that is not a line of the log. */
  readonly text: string[] = [];
  readonly exited: Promise<number | null>;
  readonly #looks = new Set<() => void>();

  constructor(child: ChildProcess) {
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) createInterface(stream).on("line", (line) => this.#hear(line));
    }
    this.exited = new Promise((resolve) => {
      child.once("close", (code) => {
        resolve(code);
        for (const look of this.#looks) look();
      });
    });
  }

  /** Resolves with the first line of the log for which `isIt` holds, past ones included. */
  async line(isIt: (line: LogLine) => boolean): Promise<LogLine> {
    await this.#until(() => this.log.some(isIt));
    return this.log.find(isIt) as LogLine;
  }

  /** Where a listener listens. */
  async url(listener: string): Promise<string> {
    const { url } = await this.line(
      (line) => line.msg === "listening" && line.listener === listener,
    );
    return url as string;
  }

  /** The process ids of workers that have started so far. */
  get workerPids(): number[] {
    return this.log.filter(({ msg }) => msg === "worker started").map(({ pid }) => pid as number);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Ends it immediately, unless it has ended. */
  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGKILL");
    await this.exited;
  }

  #hear(line: string): void {
    try {
      this.log.push(JSON.parse(line));
    } catch {
      this.text.push(line);
    }
    for (const look of this.#looks) look();
  }

  #until(isThere: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer);
        this.#looks.delete(look);
        act();
      };
      const fail = (why: string) =>
        end(() => reject(new Error(`${why}\n${[...this.text, ...this.log.map(show)].join("\n")}`)));
      const timer = setTimeout(() => fail(`not within ${WAIT_MS_MAX} ms`), WAIT_MS_MAX);
      const look = () => {
        if (isThere()) end(resolve);
        else if (this.child.exitCode !== null) fail(`it ended with ${this.child.exitCode}`);
      };
      this.#looks.add(look);
      look();
    });
  }
}

/** Starts `sluice serve` under a configuration, in a folder of its own. */
export function startServe(config: object): ServeProcess & { readonly file: string } {
  const file = join(makeFolder("server"), "sluice.yaml");
  writeFileSync(file, JSON.stringify(config));
  const child = spawn(process.execPath, [COMMAND, "serve", "--config", file], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  return Object.assign(new ServeProcess(child), { file });
}

function show(line: LogLine): string {
  return JSON.stringify(line);
}
