// What the benchmarks of replays have in common: three rules by address, as a first set of rules has them, and the parts of
// the service that `sluice replay` is made of.

/** One for all requests, one for an API and one for logins. A request falls under one or two of them. */
export const THREE_RULES = {
  version: 1,
  rules: [
    { id: "everyone", key: "ip", limit: { tokenBucket: { capacity: 100, refillPerSecond: 10 } } },
    {
      id: "api",
      match: { path: "/api/*" },
      key: "ip",
      limit: { slidingWindowCounter: { limit: 50, windowMs: "10s" } },
    },
    {
      id: "login",
      match: { path: "/login", methods: "POST" },
      key: "ip",
      limit: { fixedWindow: { limit: 5, windowMs: "1m" } },
    },
  ],
};

/** A report, as far as the benchmarks read it. */
export interface ReplayFigures {
  readonly requests: { readonly total: number; readonly refused: number };
  readonly callers: { readonly total: number };
  readonly log: { readonly malformed: number };
}

/** The folder of the service's build. */
export const DIST = new URL("../../../packages/server/dist/", import.meta.url);

interface ReplayModules {
  openSources(inputs: readonly unknown[], choice: object): Promise<readonly unknown[]>;
  replayLogs(input: object): Promise<ReplayFigures>;
}

/** What the command calls. */
export async function loadReplay(): Promise<ReplayModules> {
  const [sources, replay] = await Promise.all([
    import(new URL("access-logs/reading/log-source.js", DIST).href),
    import(new URL("core/log-replay/log-replay.js", DIST).href),
  ]);
  return { ...sources, ...replay } as ReplayModules;
}
