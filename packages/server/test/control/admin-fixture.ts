// The admin port of a control node for tests: a database, a state that follows it, and a token for every role.

import { memoryStore } from "sluice";
import { createPolicy } from "sluice/rules";
import { type Path, Reading, Spot } from "sluice/shapes";
import { ManualClock } from "sluice/testing";
import { openAdmin } from "../../src/admin/admin.js";
import { ROUTES } from "../../src/admin/routes.js";
import type { AdminControl } from "../../src/admin/service-control.js";
import type { AdminConfig } from "../../src/config/config.js";
import { ControlPlane } from "../../src/control/control-plane.js";
import { DatabaseFeed } from "../../src/control/feed/database-feed.js";
import { Follower } from "../../src/control/state/follower.js";
import type { Core } from "../../src/core/core.js";
import type { Database } from "../../src/database/database.js";
import { silentTelemetry } from "../../src/telemetry/silent-telemetry.js";
import { toTestConfig } from "../test-config.js";

export const START_MS = 1_700_000_000_000;
export const RULES = {
  version: 1,
  rules: [{ id: "login", key: "ip", limit: "3/minute" }],
};
const RULES_TEXT = JSON.stringify(RULES);

/** A caller: a role with a token that works, or what is wrong with the token. */
export type TestCaller = "none" | "viewer" | "operator" | "admin" | "node" | "expired" | "revoked";

/** An answer, with its body read. */
export interface AdminAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
  readonly body: any;
}

/** What a request has besides its method and path. */
export interface Ask {
  readonly as?: TestCaller;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The admin port of a control node. */
export interface ControlAdmin {
  readonly url: string;
  readonly core: Core;
  readonly clock: ManualClock;
  readonly database: Database;
  readonly plane: ControlPlane;
  /** The secrets of the tokens, by caller. */
  readonly tokens: Readonly<Record<TestCaller, string>>;
  /** Asks, as an admin unless it is said, and checks that the answer has the shape that its route declares. */
  ask(request: string, how?: Ask): Promise<AdminAnswer>;
  close(): Promise<void>;
}

/** What differs from a control node with published rules. */
export interface ControlAdminOptions {
  readonly admin?: Partial<AdminConfig>;
  readonly control?: Partial<AdminControl>;
}

/** Opens the admin port of a control node, with rules published. */
export async function startControlAdmin(
  database: Database,
  options: ControlAdminOptions = {},
): Promise<ControlAdmin> {
  const clock = new ManualClock(START_MS);
  const follower = new Follower({ feed: new DatabaseFeed(database) });
  const now = () => clock.now();
  const plane = new ControlPlane({ database, enforce: () => follower.catchUp(), now });
  const tokens = await makeTokens(plane, database);
  const draft = await plane.ruleSets.createDraft(by(), RULES_TEXT);
  await plane.ruleSets.publish(by(), { number: draft.number, note: "first", expected: 0 });
  await follower.start();
  // Small: setting memory aside for a million keys takes longer than most tests.
  const store = memoryStore({ keysMax: 1_000 });
  const policy = createPolicy({ rules: RULES, store, clock });
  const admin = { ...toTestConfig().admin, ...options.admin };
  const config = toTestConfig({ admin });
  const telemetry = silentTelemetry();
  const core: Core = { config, clock, store, policy, blindPolicy: undefined, telemetry };
  const listener = await openAdmin(core, {
    isReady: () => ({ ready: true, reasons: [] }),
    reload: async () => {},
    metrics: () => telemetry.metrics(),
    controlPlane: plane,
    controlState: follower.state,
    ...options.control,
  });
  const ask = async (request: string, { as = "admin", body, headers = {} }: Ask = {}) => {
    const [method, path] = request.split(" ");
    const token = tokens[as];
    const response = await fetch(listener.url + path, {
      method,
      headers: {
        ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await read(response);
    if (response.ok) mustFit(method, path, answer);
    return answer;
  };
  const close = async () => {
    await listener.close();
    await follower.close();
    await policy.close();
  };
  return { url: listener.url, core, clock, database, plane, tokens, ask, close };
}

let changes = 0;
/** Who makes a change in a test. */
export function by() {
  return { id: `set-up-${++changes}`, actor: "set-up", origin: "local", reason: "a test" };
}

async function makeTokens(
  plane: ControlPlane,
  database: Database,
): Promise<Record<TestCaller, string>> {
  const { accessTokens } = plane;
  const make = (role: "viewer" | "operator" | "admin" | "node") =>
    accessTokens.create(by(), { name: `the ${role}`, role });
  const past = new ControlPlane({ database, now: () => START_MS - 1 }).accessTokens;
  const expired = { name: "the admin", role: "admin", expiresAtMs: START_MS };
  const revoked = await make("admin");
  const tokens = {
    none: "",
    viewer: (await make("viewer")).secret,
    operator: (await make("operator")).secret,
    admin: (await make("admin")).secret,
    node: (await make("node")).secret,
    expired: (await past.create(by(), expired)).secret,
    revoked: revoked.secret,
  };
  await accessTokens.revoke(by(), revoked.id);
  return tokens;
}

async function read(response: Response): Promise<AdminAnswer> {
  const { status, headers } = response;
  const isEndless = headers.get("content-type") === "text/event-stream";
  if (isEndless) await response.body?.cancel();
  const text = isEndless ? "" : await response.text();
  const isJson = (headers.get("content-type") ?? "").includes("json");
  return { status, headers, body: isJson && text !== "" ? JSON.parse(text) : text };
}

function mustFit(method: string, path: string, { status, body }: AdminAnswer): void {
  const pathname = path.replace(/\?.*/, "");
  const route = ROUTES.find(
    (each) => each.method === method && toPattern(each.path).test(pathname),
  );
  if (route === undefined) throw new Error(`${method} ${path} is answered and not in the table`);
  if (status !== (route.status ?? 200)) throw new Error(`${method} ${path} answered ${status}`);
  const reading = new FirstProblem();
  route.reply?.read(structuredClone(body), new Spot(reading));
  if (reading.problemCount > 0) throw new Error(`${method} ${path}: ${reading.first}`);
}

function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

class FirstProblem extends Reading {
  problemCount = 0;
  first = "";

  report(path: Path, problem: string): void {
    this.problemCount += 1;
    if (this.problemCount === 1) this.first = `${path.join(".")} ${problem}`;
  }
}
