// The fixture for tests of `sluice serve`: an upstream, rules of one limit, and processes that are ended after
// each test.

import { afterAll, afterEach, beforeAll } from "vitest";
import { type ServeProcess, startServe } from "./serve-process.js";
import { startUpstream, type Upstream } from "./upstream.js";

/** Windows begin with the epoch: thirty days hardly turn during a test, as an hour did. */
const WINDOW_MS = 30 * 86_400_000;

/** One rule for all callers: this many in thirty days. */
export function rulesOf(limit: number): object {
  const window = { fixedWindow: { limit, windowMs: WINDOW_MS } };
  return { version: 1, rules: [{ id: "everybody", key: "global", limit: window }] };
}

/** Processes of the tests of one file, behind them an upstream. */
export function useServe() {
  let upstream: Upstream;
  let running: ServeProcess[] = [];
  beforeAll(async () => {
    upstream = await startUpstream();
  });
  afterEach(async () => {
    for (const each of running) await each.kill();
    running = [];
  });
  afterAll(() => upstream.close());

  const toFile = (workers: number, rules: object, extra: object = {}) => ({
    server: { workers },
    gateway: { listen: "127.0.0.1:0" },
    admin: { listen: "127.0.0.1:0" },
    upstreams: { app: { backends: [upstream.url] } },
    routes: [{ path: "/*", upstream: "app" }],
    store: { kind: "memory", keysMax: 10_000 },
    telemetry: { decisionLogShare: 0 },
    rules,
    ...extra,
  });
  const serve = (workers: number, rules: object, extra?: object) => {
    const served = startServe(toFile(workers, rules, extra));
    running.push(served);
    return served;
  };
  return { toFile, serve };
}
