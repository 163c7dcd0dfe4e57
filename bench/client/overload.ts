// Fifty clients that want three times what a server admits, all under one limit: clients of sluice/client, over clients
// that call fetch and repeat a refusal immediately, up to three times. Servers and clients are real, in processes of their
// own. The application finds out who is asking before it counts, as one that limits by user does, so that its refusals cost
// a quarter of a response, and it does not notice clients that have left. Beside it, not judged, a gateway that refuses
// cheaply: that serves clients that repeat immediately as many responses, or more, since they are always there when a unit
// of the limit comes free.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createFetch } from "sluice/client";
import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn, summarise } from "../harness.js";
import { RandomIds } from "../random.js";
import { ADMITTED_PER_SECOND, type ServerName } from "./overloaded-server.js";

const CLIENTS = 50;
const OVERLOAD = 3;
const RETRIES = 3;
const ROUNDS = effort({ full: 7, quick: 1 });
const ROUND_MS = effort({ full: 6_000, quick: 1_000 });
/** A response that is later is of no use to its caller. */
const DEADLINE_MS = 2_000;
const EVERY_MS = (1_000 * CLIENTS) / (OVERLOAD * ADMITTED_PER_SECOND);

/** What the clients of one side saw in one round. */
interface Seen {
  useful: number;
  refused: number;
}

/** Makes one request. Resolves to whether the response was useful. */
type Ask = (url: string) => Promise<boolean>;

/** Makes a client, which counts the refusals that it sees. */
type ToClient = (seen: Seen) => Ask;

const sides = { ours: toSluice, naive: toNaive } as const satisfies Record<string, ToClient>;

type Rounds = Readonly<Record<keyof typeof sides, readonly Seen[]>>;

const serverPath = fileURLToPath(new URL("overloaded-server.js", import.meta.url));

/** Each round has servers of its own, so that no side starts with the other's backlog. */
async function measure(part: string): Promise<Rounds> {
  const rounds: Record<keyof typeof sides, Seen[]> = { ours: [], naive: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of inTurn(["ours", "naive"] as const, round)) {
      const started: ChildProcess[] = [];
      try {
        rounds[side].push(await overloadBy(sides[side], await start(part, started), round));
      } finally {
        for (const child of started) child.disconnect();
      }
    }
  }
  return rounds;
}

async function start(part: string, started: ChildProcess[]): Promise<string> {
  const upstream = part === "gateway" ? await startOne("upstream", 0, started) : 0;
  return `http://127.0.0.1:${await startOne(part as ServerName, upstream, started)}/`;
}

async function startOne(name: ServerName, upstream: number, started: ChildProcess[]) {
  const child = fork(serverPath, [name, `${upstream}`], { execArgv: [] });
  started.push(child);
  const [port] = await once(child, "message");
  return port as number;
}

/**
 * Sends requests at the same random times, whatever becomes of them. What comes after the last of them does not count: the
 * server is no longer overloaded then.
 */
async function overloadBy(toClient: ToClient, url: string, round: number): Promise<Seen> {
  const seen: Seen = { useful: 0, refused: 0 };
  const ids = new RandomIds(1, 0x2545f491 * (round + 1));
  const startMs = performance.now();
  const counted = new Promise<Seen>((resolve) => setTimeout(() => resolve({ ...seen }), ROUND_MS));
  const clients = Array.from({ length: CLIENTS }, async () => {
    const ask = toClient(seen);
    const pending: Promise<void>[] = [];
    for (let atMs = ids.nextFraction() * EVERY_MS; atMs < ROUND_MS; ) {
      await new Promise((resolve) => setTimeout(resolve, startMs + atMs - performance.now()));
      pending.push(call(ask, url, seen));
      atMs += EVERY_MS * (0.5 + ids.nextFraction());
    }
    await Promise.all(pending);
  });
  await Promise.all(clients);
  return counted;
}

async function call(ask: Ask, url: string, seen: Seen): Promise<void> {
  const endMs = performance.now() + DEADLINE_MS;
  // Given up by the client: not useful, and not refused by the server.
  const isUseful = await ask(url).catch(() => false);
  if (isUseful && performance.now() <= endMs) seen.useful++;
}

function toSluice(seen: Seen): Ask {
  const fetch = createFetch({
    deadlineMs: DEADLINE_MS,
    onEvent: ({ type }) => {
      if (type === "refused") seen.refused++;
    },
  });
  return async (url) => isOk(await fetch(url));
}

function toNaive(seen: Seen): Ask {
  return async (url) => {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    for (let attempt = 0; attempt <= RETRIES; attempt++) {
      if (isOk(await fetch(url, { signal }))) return true;
      seen.refused++;
    }
    return false;
  };
}

function isOk(response: Response): boolean {
  // Frees the connection.
  void response.text().catch(() => {});
  return response.ok;
}

const NAMES = {
  subject: "50 clients of sluice/client",
  reference: "50 clients with fetch and 3 immediate retries",
} as const;

/** Useful responses. */
export const overload: Bench<Rounds> = {
  id: "client/overload",
  unit: "ratio",
  bound: { is: "at least", bar: 1.5, goal: 2 },
  parts: ["application", "gateway"],
  runPart: measure,
  conclude([application, gateway]) {
    const note = `admits ${ADMITTED_PER_SECOND} a second`;
    return [
      toUseful(application, `an application that ${note} behind its login`),
      { ...toUseful(gateway, `a gateway that ${note}`), isJudged: false },
    ];
  },
};

function toUseful({ ours, naive }: Rounds, note: string): Finding {
  const [mine, theirs] = [ours, naive].map((side) =>
    side.map(({ useful }) => (1_000 * useful) / ROUND_MS),
  ) as [number[], number[]];
  return toRatioFinding({ ...NAMES, note }, mine, theirs);
}

/** Refusals received for each useful response. */
export const refused: Bench<Rounds> = {
  id: "client/refused",
  unit: "ratio",
  bound: { is: "at most", bar: 0.3, goal: 0.05 },
  parts: ["application", "gateway"],
  runPart: measure,
  conclude([application, gateway]) {
    return [
      toRefused(application, "an application"),
      { ...toRefused(gateway, "a gateway"), isJudged: false },
    ];
  },
};

function toRefused({ ours, naive }: Rounds, server: string): Finding {
  const [mine, theirs] = [ours, naive].map((side) =>
    side.map((seen) => seen.refused / Math.max(1, seen.useful)),
  ) as [number[], number[]];
  const { value, spread } = summarise(mine.map((share, i) => share / (theirs[i] as number)));
  const [few, many] = [mine, theirs].map((side) => summarise(side).value.toPrecision(2));
  const note = `${server}; refusals for each useful response: ${few} and ${many}`;
  return { ...NAMES, ratio: value, value, spread, note };
}
