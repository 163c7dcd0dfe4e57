// A client whose clock stands still, and a stub in place of the network, for the tests of the client.

import type { ClientEvent } from "../../src/client/events.js";
import { createFetch, type FetchOptions } from "../../src/client/fetch/create-fetch.js";
import { ManualClock } from "../../src/testing/manual-clock.js";

export const URL_OF_API = "https://api.example.com/things";

export type Answer = Response | Error | Promise<Response> | "never";

/** A client whose clock stands still, and a server that answers as it is asked to. */
export function setup(answers: readonly Answer[] | (() => Answer), options: FetchOptions = {}) {
  const clock = new ManualClock(1_800_000_000_000);
  const sent: { url: string; init: RequestInit; atMs: number; body: unknown }[] = [];
  const events: ClientEvent[] = [];
  const fetch = createFetch({
    clock,
    random: () => 0.5,
    onEvent: (event) => events.push(event),
    fetch: async (input, init = {}) => {
      const url = typeof input === "object" && "url" in input ? input.url : String(input);
      const ownBody = typeof input === "object" && "text" in input && !input.bodyUsed;
      const body = init.body ?? (ownBody ? await input.text() : undefined);
      sent.push({ url, init, atMs: clock.now() - 1_800_000_000_000, body });
      const answer = typeof answers === "function" ? answers() : answers[sent.length - 1];
      const own = typeof input === "object" && "signal" in input ? input.signal : undefined;
      if (answer === "never") return forever(init.signal ?? own);
      if (answer instanceof Error) throw answer;
      return answer ?? new Response("ok");
    },
    ...options,
  });
  /** Moves time until the request has ended. */
  const finish = async <T>(promise: Promise<T>): Promise<T> => {
    let isOver = false;
    const ended = promise.finally(() => {
      isOver = true;
    });
    ended.catch(() => {});
    for (let i = 0; i < 100_000 && !isOver; i++) {
      await settle();
      if (!isOver) clock.advance(10);
    }
    return ended;
  };
  return { clock, fetch, sent, events, finish };
}

function forever(signal: AbortSignal | null | undefined): Promise<Response> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}

/** Lets everything run that does not wait for time. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));

export const refusal = (fields: Record<string, string> = {}) =>
  new Response("slow down", { status: 429, headers: fields });
export const reset = () => new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });

export function quota(remaining: number, seconds: number, limit = 10): Response {
  const headers = {
    ratelimit: `"all";r=${Math.max(0, remaining)};t=${seconds}`,
    "ratelimit-policy": `"all";q=${limit};w=${seconds}`,
  };
  return new Response("", { headers });
}

/** Counts the timers of a clock that were started from now on and neither ran nor were cancelled. */
export function countTimers(clock: ManualClock): () => number {
  const running = new Set<object>();
  const { after } = clock;
  clock.after = (delayMs, task) => {
    const timer = {};
    running.add(timer);
    const cancel = after.call(clock, delayMs, () => {
      running.delete(timer);
      task();
    });
    return () => {
      running.delete(timer);
      cancel();
    };
  };
  return () => running.size;
}
