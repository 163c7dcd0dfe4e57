// How much the gateway carries: requests per second of its processor time, over a proxy of Node's own parts and
// over nginx with limit_req; refusals over requests that pass; and the size of a refusal.

import { connect } from "node:net";
import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { askProxy, type ProxyName, startProxies } from "./proxies-load.js";

const ROUNDS = effort({ full: 9, quick: 1 });
/** Seconds of the proxy's processor time in a round. */
const ROUND_SECONDS = effort({ full: 1.5, quick: 0.5 });
const WARM_UP_SECONDS = effort({ full: 2, quick: 0.5 });

/** Requests per second of processor time of each side, one figure for each round. */
export type Rates = readonly (readonly number[])[];

export const gatewayNode: Bench<Rates> = {
  id: "service/gateway-node",
  unit: "ratio",
  bound: { is: "at least", bar: 1.8, goal: 3 },
  parts: ["all"],
  runPart: () => takeTurns(["gateway", "node"]),
  conclude: ([rates]) => [toFinding("gateway, one rule, memory", "http.request + Agent", rates)],
};

export const gatewayNginx: Bench<Rates> = {
  id: "service/gateway-nginx",
  unit: "ratio",
  bound: { is: "at least", bar: 0.25, goal: 0.5 },
  parts: ["all"],
  runPart: () => takeTurns(["gateway", "nginx"]),
  conclude: ([rates]) => [
    toFinding("gateway, one rule, memory", "nginx, limit_req, proxy_pass", rates),
  ],
};

export const reject: Bench<Rates> = {
  id: "service/reject",
  unit: "ratio",
  bound: { is: "at least", bar: 1.8, goal: 3 },
  parts: ["all"],
  runPart: () => takeTurns(["refusing", "gateway"]),
  conclude: ([rates]) => [toFinding("refusals of the gateway", "requests through it", rates)],
};

/** Bytes of a refusal, with the usual body and with the minimal one. */
type Sizes = readonly [problem: number, minimal: number];

export const refusalBytes: Bench<Sizes> = {
  id: "service/refusal-bytes",
  unit: "bytes",
  bound: { is: "at most", goal: 500 },
  parts: ["all"],
  runPart: measureRefusals,
  conclude: ([[problem, minimal]]) => [
    { subject: "a refusal on the wire, head included", value: problem },
    {
      subject: 'the same with `body: "minimal"`',
      value: minimal,
      note: "goal ≤ 250",
      isJudged: false,
    },
  ],
};

function toFinding(subject: string, reference: string, [ours, theirs]: Rates): Finding {
  return toRatioFinding({ subject, reference }, ours, theirs);
}

/** Sides that refuse every request but the first. */
const REFUSING: readonly ProxyName[] = ["refusing", "blocked"];

/** Each round has processes of its own, as those of `http/node` have, and for the same reason. */
export async function takeTurns(names: readonly ProxyName[]): Promise<Rates> {
  const rates = names.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    const { proxies, stop } = await startProxies(names);
    const turns = inTurn([...names.keys()], round);
    try {
      for (const i of turns) await ask(i, WARM_UP_SECONDS);
      for (const i of turns) rates[i].push(await ask(i, ROUND_SECONDS));
    } finally {
      stop();
    }
    function ask(i: number, seconds: number): Promise<number> {
      return askProxy(proxies[i], seconds, { isRefused: REFUSING.includes(names[i]) });
    }
  }
  return rates;
}

async function measureRefusals(): Promise<Sizes> {
  const { proxies, stop } = await startProxies(["refusing", "minimal"]);
  try {
    const [problem, minimal] = proxies.map(({ port }) => sizeOfSecond(port));
    return [await problem, await minimal];
  } finally {
    stop();
  }
}

/** Bytes of the second response on a connection: the first is the one that is allowed. */
async function sizeOfSecond(port: number): Promise<number> {
  const get = "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n";
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("latin1");
  socket.write(get);
  let size = 0;
  let asked = 1;
  for await (const piece of socket) {
    size += piece.length;
    // Both responses come whole: they are small.
    if (asked === 2) break;
    asked = 2;
    size = 0;
    socket.write(get);
  }
  return size;
}
