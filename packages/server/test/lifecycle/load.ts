// Clients that keep asking one address over connections that stay open, and count what they are answered.

import { Agent, get } from "node:http";

/** What clients were answered. */
export interface Tally {
  /** Answers by status. */
  readonly statuses: Map<number, number>;
  /** Requests that got no whole answer, by what was seen. */
  readonly failures: string[];
}

/** Clients at work. */
export interface Load {
  readonly tally: Tally;
  /** Resolves when this many answers have come in all. */
  until(answers: number): Promise<void>;
  /** Lets requests under way end, then returns what all were answered. */
  stop(): Promise<Tally>;
}

/** How a load is made. */
export interface LoadOptions {
  /** Clients, each with one connection and one request at a time; default 8. */
  readonly clients?: number;
  /** Ends a client: after a failure of this kind it does not ask again. Default: none does. */
  readonly endsWith?: (failure: string) => boolean;
}

const FAILURES_KEPT_MAX = 1_000;
/** How long an answer may take on a machine with other work. */
const ANSWER_MS_MAX = 60_000;

/** Starts clients that ask `url` until they are stopped. */
export function startLoad(url: string, { clients = 8, endsWith }: LoadOptions = {}): Load {
  const tally: Tally = { statuses: new Map(), failures: [] };
  const waiting = new Set<() => void>();
  let isStopped = false;
  const run = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!isStopped) {
      const seen = await ask(url, agent);
      if (typeof seen === "number") tally.statuses.set(seen, countOf(tally, seen) + 1);
      else if (tally.failures.length < FAILURES_KEPT_MAX) tally.failures.push(seen);
      for (const look of waiting) look();
      if (typeof seen === "string" && endsWith?.(seen) === true) break;
    }
    agent.destroy();
  };
  const running = Promise.all(Array.from({ length: clients }, run));
  return {
    tally,
    until: (answers) =>
      new Promise((resolve) => {
        const look = () => {
          if (answersOf(tally) < answers) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    stop: async () => {
      isStopped = true;
      await running;
      return tally;
    },
  };
}

/** How many answers had this status. */
export function countOf({ statuses }: Tally, status: number): number {
  return statuses.get(status) ?? 0;
}

/** How many answers there were. */
export function answersOf({ statuses }: Tally): number {
  return [...statuses.values()].reduce((sum, count) => sum + count, 0);
}

/** Asks once; returns the status of a whole answer, or what went wrong. */
export function ask(url: string, agent?: Agent): Promise<number | string> {
  return new Promise((resolve) => {
    const request = get(url, { agent: agent ?? false }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
      response.once("error", (error) => resolve(String(error)));
    });
    request.setTimeout(ANSWER_MS_MAX, () => request.destroy(new Error("no answer")));
    request.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
