// What an API key costs a user of the gateway: requests for each second of its processor time by API key, tenant and
// plan, over the same gateway with the same keys and a rule by a header that names the tenant. Both are followers that
// start from a snapshot while the control plane is away.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Finding, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import {
  askProxy,
  failure,
  PROXY_CPU,
  type RunningProxy,
  readCpuSeconds,
  readResidentBytes,
  startProxies,
} from "../service/proxies-load.js";
import {
  KEYS,
  type MakeSecret,
  makeKeys,
  PLANS,
  TENANTS,
  toEntities,
  toTenantId,
} from "./known-keys.js";
import { newFolder, snapshotText } from "./nodes.js";

/** Pairs of processes, and rounds of each: warming them up takes most of the time, so several rounds share it. */
const PAIRS = effort({ full: 3, quick: 1 });
const ROUNDS = effort({ full: 3, quick: 1 });
/** Seconds of the gateway's processor time in a round. */
const ROUND_SECONDS = effort({ full: 1.5, quick: 0.5 });
/** Enough for all keys to be verified by their SHA-256, which is done once for each. */
const WARM_UP_SECONDS = effort({ full: 8, quick: 0.5 });
/** wrk is started each second, and each time begins with another part of the requests. */
const PARTS = 8;
/** The step from one request to the next; coprime with their number, so that all of them come. */
const STEP = 35_717;
const LIMIT = "1000000000/day";

/** Requests per second of processor time by API key and by header, one figure for each round. */
export type GatewayRates = readonly [byKey: readonly number[], byHeader: readonly number[]];

/** One of the two gateways. */
interface Side {
  readonly name: string;
  readonly header: string;
  readonly rule: object;
  readonly identity: object;
}

const SIDES: readonly Side[] = [
  {
    name: "key",
    header: "X-API-Key",
    rule: { key: "tenant", tiers: Object.fromEntries(PLANS.map((plan) => [plan, LIMIT])) },
    identity: { apiKeys: "control" },
  },
  { name: "header", header: "X-Tenant", rule: { key: "header:x-tenant" }, identity: {} },
];

/** Runs both gateways in turns, with several pairs of processes. */
export async function measureGateways(makeSecret: MakeSecret): Promise<GatewayRates> {
  const rates: [number[], number[]] = [[], []];
  const folder = newFolder();
  try {
    const keys = makeKeys(makeSecret);
    const tenants = keys.map((_, n) => toTenantId(n % TENANTS));
    const values = [keys.map(({ secret }) => secret), tenants];
    for (const [i, side] of SIDES.entries()) {
      writeFileSync(join(folder, `${side.name}.txt`), (values[i] ?? []).join("\n"));
      writeFileSync(join(folder, `${side.name}.lua`), toScript(folder, side));
      const entities = [toRuleSet(side), ...toEntities(keys)];
      writeFileSync(join(folder, `${side.name}.snapshot`), snapshotText(entities));
    }
    for (let pair = 0; pair < PAIRS; pair++) await measurePair(folder, pair, rates);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return rates;
}

/** Beside the decisions, which are what is judged. */
export function toGatewayFinding([byKey, byHeader]: GatewayRates): Finding {
  const names = {
    subject: "gateway, API key → tenant → plan",
    reference: "gateway, the same rule by a header",
    note: "nothing refused",
  };
  return { ...toRatioFinding(names, byKey, byHeader), isJudged: false };
}

async function measurePair(
  folder: string,
  pair: number,
  rates: readonly [number[], number[]],
): Promise<void> {
  const { upstream, stop } = await startProxies([]);
  const gateways: RunningProxy[] = [];
  const ask = (i: number, seconds: number) =>
    askProxy(gateways[i] as RunningProxy, seconds, {
      script: join(folder, `${SIDES[i]?.name}.lua`),
    });
  try {
    for (const side of SIDES) gateways.push(await startGateway(folder, side, upstream.port));
    for (const i of inTurn([0, 1], pair)) await ask(i, WARM_UP_SECONDS);
    for (let round = 0; round < ROUNDS; round++) {
      for (const i of inTurn([0, 1], pair + round)) rates[i]?.push(await ask(i, ROUND_SECONDS));
    }
  } finally {
    stop();
    for (const gateway of gateways) gateway.stop();
  }
}

const GATEWAY = `
  import { startService, toConfig } from "sluice-server";
  const [upstream, snapshot, identity] = process.argv.slice(1);
  const { listeners } = await startService(toConfig({
    gateway: { listen: "127.0.0.1:0" },
    admin: { listen: "127.0.0.1:0" },
    upstreams: { app: { backends: ["http://127.0.0.1:" + upstream] } },
    routes: [{ path: "/*", upstream: "app" }],
    identity: JSON.parse(identity),
    control: { follow: "http://127.0.0.1:9", token: "a-token-of-a-benchmark", snapshot, node: "bench" },
    telemetry: { logLevel: "silent" },
  }));
  const { url } = listeners.find(({ name }) => name === "gateway");
  process.on("disconnect", () => process.exit(0));
  process.send(Number(new URL(url).port));
`;

async function startGateway(
  folder: string,
  { name, identity }: Side,
  upstreamPort: number,
): Promise<RunningProxy> {
  const snapshot = join(folder, `${name}.snapshot`);
  const node = [process.execPath, "--input-type=module", "--eval", GATEWAY];
  const given = [`${upstreamPort}`, snapshot, JSON.stringify(identity)];
  const child = spawn("taskset", ["-c", PROXY_CPU, ...node, ...given], {
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const port = await Promise.race([
    once(child, "message").then(([message]) => message as number),
    failure(child, name),
  ]);
  const pid = child.pid as number;
  return {
    name,
    port,
    cpuSeconds: () => readCpuSeconds(pid),
    residentBytes: () => readResidentBytes(pid),
    stop: () => child.disconnect(),
  };
}

function toRuleSet({ rule }: Side): object {
  const rules = [{ id: "api", match: { path: "/api/*" }, limit: LIMIT, ...rule }];
  const text = JSON.stringify({ version: 1, rules });
  const body = { status: "published", text, note: "", basedOn: 0 };
  return { kind: "rule-set", id: "0000000001", sequence: 1, body };
}

/** A script of wrk that sends all values of a header, not one after the other. */
function toScript(folder: string, { name, header }: Side): string {
  const file = JSON.stringify(join(folder, `${name}.txt`));
  const format = `wrk.format("GET", "/api/orders", {["${header}"] = line})`;
  return [
    `local list, n = {}, (os.time() % ${PARTS}) * ${KEYS / PARTS} * ${STEP} % ${KEYS}`,
    `init = function() for line in io.lines(${file}) do list[#list + 1] = ${format} end end`,
    `request = function() n = (n + ${STEP}) % ${KEYS}; return list[n + 1] end`,
    "",
  ].join("\n");
}
