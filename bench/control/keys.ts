// API keys of the control plane: what a decision by API key, tenant and plan costs over the same rule by a header, and
// what a known key takes of memory. Both with 100,000 keys.

import { createHash } from "node:crypto";
import { tokenBucket } from "sluice";
import type { KeyResolver } from "sluice/api-keys";
import {
  createRequestHandler,
  HandledRequest,
  type HttpRequest,
  type IdentityOptions,
} from "sluice/http";
import { createPolicy } from "sluice/rules";
import type { Bench, Finding } from "../bench.js";
import { toFinding } from "../bench.js";
import { type Comparison, type Contender, collectGarbage, compare } from "../harness.js";
import { RandomIds } from "../random.js";
import { type GatewayRates, measureGateways, toGatewayFinding } from "./keys-gateway.js";
import {
  KEY_LENGTH,
  KEYS,
  type MakeSecret,
  makeKeys,
  PLANS,
  TENANTS,
  toEntities,
  toKeys,
  toTenantId,
} from "./known-keys.js";

/** Short rounds, and many: what other programs do to the caches changes from second to second. */
const OPERATIONS = 60_000;
const ROUNDS = 51;
const LIMIT = tokenBucket({ capacity: 1_000_000_000, refillPerSecond: 1_000_000_000 });

/** The decisions of a request handler in this process, or requests through a gateway. */
type Speeds = { readonly decisions: Comparison } | { readonly gateways: GatewayRates };

export const keyLookup: Bench<Speeds> = {
  id: "control/key-lookup",
  unit: "ratio",
  bound: { is: "at least", bar: 0.8, goal: 0.95 },
  parts: ["decisions", "gateway"],
  runPart: async (part) =>
    part === "gateway"
      ? { gateways: await measureGateways((await loadControl()).makeSecret) }
      : { decisions: await compareDecisions() },
  conclude: (parts) =>
    parts.map((part) =>
      "decisions" in part ? toFinding(part.decisions) : toGatewayFinding(part.gateways),
    ),
};

// By processor time, as the requests through the gateway are measured.
async function compareDecisions(): Promise<Comparison> {
  return compare(await byApiKey(), byHeader(), {
    operations: OPERATIONS,
    rounds: ROUNDS,
    isByCpu: true,
  });
}

/** What the keys of a node took. */
interface Footprint {
  readonly heldBytes: number;
  readonly statedBytes: number;
}

export const keyBytes: Bench<Footprint> = {
  id: "control/key-bytes",
  unit: "bytes per key",
  bound: { is: "at most", bar: 400, goal: 150 },
  parts: ["all"],
  runPart: weigh,
  conclude: (parts) => parts.map(toFootprint),
};

/** What is used of the modules of the service that have keys, which it does not export. */
export interface ControlModules {
  readonly ControlState: new (snapshot?: {
    sequence: number;
    entities: readonly object[];
  }) => NodeState;
  readonly ControlKeyResolver: new (options: {
    readonly state: NodeState;
    readonly lookUp: () => Promise<undefined>;
    readonly lookupsPerSecond: number;
    readonly unknownKeys: "refuse";
  }) => KeyResolver;
  readonly makeSecret: MakeSecret;
}

/** What is used of what a node knows. */
export interface NodeState {
  readonly keys: { readonly bytes: number };
  count(kind: "api-key"): number;
  apply(changes: readonly object[]): unknown;
}

/** Loads them. */
export async function loadControl(): Promise<ControlModules> {
  const names = ["state/state.js", "key-resolver/control-key-resolver.js", "secret-format.js"];
  const dist = new URL("../../../packages/server/dist/control/", import.meta.url);
  const modules = await Promise.all(names.map((name) => import(new URL(name, dist).href)));
  return Object.assign({}, ...modules);
}

async function byApiKey(): Promise<Contender> {
  const { ControlState, ControlKeyResolver, makeSecret } = await loadControl();
  const keys = makeKeys(makeSecret);
  const state = new ControlState({ sequence: 1, entities: toEntities(keys) });
  const keyResolver = new ControlKeyResolver({
    state,
    lookUp: async () => undefined,
    lookupsPerSecond: 1,
    unknownKeys: "refuse",
  });
  const texts = Buffer.from(keys.map(({ secret }) => secret).join(""), "latin1");
  const handle = toHandle(
    { key: "tenant", tiers: Object.fromEntries(PLANS.map((plan) => [plan, LIMIT])) },
    { keyResolver },
  );
  // A fresh string each time, as it comes off a socket.
  const ask = (id: number) =>
    handle("x-api-key", texts.toString("latin1", id * KEY_LENGTH, (id + 1) * KEY_LENGTH));
  return toContender("API key → tenant → plan", KEYS, ask);
}

function byHeader(): Contender {
  // As many places as there are keys, each as wide: where a string comes from must not be what is measured.
  const places = Array.from({ length: KEYS }, (_, n) => toTenantId(n % TENANTS).padEnd(KEY_LENGTH));
  const texts = Buffer.from(places.join(""), "latin1");
  const { length } = toTenantId(0);
  const handle = toHandle({ key: "header:x-tenant" }, {});
  const ask = (id: number) => {
    const at = id * KEY_LENGTH;
    return handle("x-tenant", texts.toString("latin1", at, at + length));
  };
  return toContender("the same rule by a header", KEYS, ask);
}

function toContender(name: string, count: number, ask: (id: number) => boolean): Contender {
  for (let id = 0; id < count; id++) if (!ask(id)) throw new Error(`${name}: refused`);
  const ids = new RandomIds(count);
  return {
    name,
    run: (operations) => {
      let admitted = 0;
      for (let i = 0; i < operations; i++) if (ask(ids.next())) admitted++;
      return admitted;
    },
  };
}

/** A request handler under one rule, as a function of the one header of a request. */
function toHandle(
  rule: object,
  identity: IdentityOptions,
): (header: string, value: string) => boolean {
  const rules = {
    version: 1,
    rules: [{ id: "api", match: { path: "/api/*" }, limit: LIMIT, ...rule }],
  };
  const requestHandler = createRequestHandler(createPolicy({ rules }), { identity });
  return (header, value) => {
    const handled = requestHandler.handle(toRequest(header, value));
    if (!(handled instanceof HandledRequest)) throw new Error("it had to be waited for");
    if (handled.decision.charges.length !== 1) throw new Error("the rule did not match");
    return handled.refusal === undefined;
  };
}

function toRequest(header: string, value: string): HttpRequest {
  return {
    method: "GET",
    target: "/api/orders",
    headers: { [header]: value },
    peer: "127.0.0.1",
    raw: undefined,
    readBody: () => undefined,
  };
}

async function weigh(): Promise<Footprint> {
  const { ControlState } = await loadControl();
  const bytesBefore = heldBytes();
  const state = new ControlState();
  // Change by change, as keys come in: a table that grows has more room than one that is loaded.
  for (let n = 0; n < KEYS; n++) {
    const hash = createHash("sha256").update(`${n}`).digest("hex");
    const [entity] = toKeys([{ id: n.toString(36).padStart(12, "0"), hash }]);
    state.apply([{ sequence: n + 1, kind: "api-key", entityId: entity.id, after: entity.body }]);
  }
  const grown = heldBytes() - bytesBefore;
  if (state.count("api-key") !== KEYS) throw new Error("keys are missing");
  return { heldBytes: grown, statedBytes: state.keys.bytes };
}

/** Typed arrays are outside the heap. */
function heldBytes(): number {
  for (let i = 0; i < 5; i++) collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function toFootprint({ heldBytes: held, statedBytes }: Footprint): Finding {
  const perKey = (bytes: number) => bytes / KEYS;
  return {
    subject: `API keys of a node, ${KEYS} of ${TENANTS} tenants`,
    value: Math.max(perKey(held), perKey(statedBytes)),
    note: `heap and buffers +${perKey(held).toFixed(1)}, the table says ${perKey(statedBytes).toFixed(1)}`,
  };
}
