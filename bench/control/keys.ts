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

const KEYS = 100_000;
const TENANTS = 1_000;
/** Of a key as it is sent. */
const KEY_LENGTH = 56;
const OPERATIONS = 300_000;
const LIMIT = tokenBucket({ capacity: 1_000_000_000, refillPerSecond: 1_000_000_000 });
const PLANS = ["free", "pro", "max"] as const;

export const keyLookup: Bench<Comparison> = {
  id: "control/key-lookup",
  unit: "ratio",
  bound: { is: "at least", bar: 0.8, goal: 0.95 },
  parts: ["all"],
  runPart: async () => compare(await byApiKey(), byHeader(), { operations: OPERATIONS }),
  conclude: (parts) => parts.map(toFinding),
};

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

interface MadeKey {
  readonly id: string;
  readonly secret: string;
  readonly hash: string;
}

/** What is used of the modules of the service that have keys, which it does not export. */
interface ControlModules {
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
  readonly makeSecret: (use: "apiKey", fillRandom: (bytes: Uint8Array) => void) => MadeKey;
}

interface NodeState {
  readonly keys: { readonly bytes: number };
  count(kind: "api-key"): number;
  apply(changes: readonly object[]): unknown;
}

async function loadControl(): Promise<ControlModules> {
  const names = ["state/state.js", "keys/control-key-resolver.js", "credentials/secret-format.js"];
  const dist = new URL("../../../packages/server/dist/control/", import.meta.url);
  const modules = await Promise.all(names.map((name) => import(new URL(name, dist).href)));
  return Object.assign({}, ...modules);
}

/** Bytes that look random, the same in every run. */
function toFill(): (bytes: Uint8Array) => void {
  const ids = new RandomIds(256);
  return (bytes) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = ids.next();
  };
}

async function byApiKey(): Promise<Contender> {
  const { ControlState, ControlKeyResolver, makeSecret } = await loadControl();
  const fill = toFill();
  const keys: MadeKey[] = Array.from({ length: KEYS }, () => makeSecret("apiKey", fill));
  const state = new ControlState({
    sequence: 1,
    entities: [...toPlans(), ...toTenants(), ...toKeys(keys)],
  });
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

function toTenantId(n: number): string {
  return `t${`${n}`.padStart(5, "0")}`;
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

function toPlans() {
  return PLANS.map((id) => ({ kind: "plan", id, sequence: 1, body: { tier: id } }) as const);
}

function toTenants() {
  return Array.from({ length: TENANTS }, (_, n) => {
    const body = { plan: PLANS[n % PLANS.length], status: "active" };
    return { kind: "tenant", id: toTenantId(n), sequence: 1, body } as const;
  });
}

function toKeys(keys: readonly Pick<MadeKey, "id" | "hash">[]) {
  return keys.map(({ id, hash }, n) => {
    const body = { tenant: toTenantId(n % TENANTS), scopes: ["read"], hash };
    return { kind: "api-key", id, sequence: n + 1, body } as const;
  });
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
