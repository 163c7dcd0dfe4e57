import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type ControlAdmin,
  startControlAdmin,
  type TestCaller,
} from "../../test/control/admin-fixture.js";
import { testDatabases } from "../../test/control/databases.js";
import { ROLES, type Role } from "../control/credentials/access-tokens.js";
import { DatabaseFeed } from "../control/feed/database-feed.js";
import type { Route } from "./route.js";
import { ROUTES } from "./routes.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

/** Which roles may do what, written out: the code has it as an order. */
const MAY: Readonly<Record<Route["role"], readonly TestCaller[]>> = {
  open: ["none", "viewer", "operator", "admin", "node", "expired", "revoked"],
  viewer: ["viewer", "operator", "admin"],
  operator: ["operator", "admin"],
  admin: ["admin"],
  node: ["node", "admin"],
};
const CALLERS = MAY.open;

/** Requests that are not GET and change nothing: a new one has to be added here. */
const READS = [
  "POST /v1/peek",
  "POST /v1/explain",
  "POST /v1/explain/nodes",
  "POST /v1/rule-sets/validate",
  "POST /v1/rule-sets/preview",
  "POST /v1/session",
  "DELETE /v1/session",
];

const nameOf = ({ method, path }: Route) => `${method} ${path}`;
const pathOf = ({ path }: Route) => path.replace("{number}", "1").replaceAll(/\{\w+\}/g, "login");
const toAsk = (route: Route, as: TestCaller) => ({
  as,
  ...(route.method === "GET" ? {} : { body: {} }),
});

describe.each(all)("every route, with the control plane in $name", (databases) => {
  let admin: ControlAdmin;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
  });
  afterEach(() => admin.close());

  it("answers the callers whose role it names, and no others", async () => {
    const seen: string[] = [];
    const expected: string[] = [];
    for (const route of ROUTES) {
      for (const caller of CALLERS) {
        const { status, body } = await admin.ask(
          `${route.method} ${pathOf(route)}`,
          toAsk(route, caller),
        );
        const refusal =
          status === 401 || body.code === "SLUICE_ROLE_INSUFFICIENT" ? status : "answered";
        // A login without a token is refused too, but by the route itself.
        seen.push(`${nameOf(route)} ${caller}: ${refusal}`);
        const isKnown = ROLES.includes(caller as Role);
        const outcome = MAY[route.role].includes(caller) ? "answered" : isKnown ? 403 : 401;
        expected.push(`${nameOf(route)} ${caller}: ${outcome}`);
      }
    }
    expect(seen).toEqual(expected);
    expect(seen.length).toBeGreaterThan(400);
  });

  it("that is not a read refuses a viewer, and no request of a viewer changes anything", async () => {
    const feed = new DatabaseFeed(admin.database);
    const before = await feed.snapshot();
    const rules = await admin.ask("GET /v1/rules");
    for (const route of ROUTES) {
      const bodies = route.method === "GET" ? [undefined] : [{}, ...likelyBodies];
      for (const body of bodies) {
        const headers = { "if-match": "*", "sluice-reason": "a viewer" };
        const how = { as: "viewer", headers, ...(body === undefined ? {} : { body }) } as const;
        const { status } = await admin.ask(`${route.method} ${pathOf(route)}`, how);
        if (route.method === "GET" || READS.includes(nameOf(route))) continue;
        const expected = route.role === "open" ? status : 403;
        expect([nameOf(route), status]).toEqual([nameOf(route), expected]);
      }
    }
    expect(await feed.snapshot()).toEqual(before);
    expect(await admin.ask("GET /v1/rules")).toMatchObject({ body: rules.body });
  });

  it("that changes nothing and is not GET is one of a few", () => {
    const reads = ROUTES.filter(({ method, isRead }) => method !== "GET" && isRead === true);
    expect(reads.map(nameOf).sort()).toEqual([...READS].sort());
    const others = ROUTES.filter(({ method, isRead }) => method !== "GET" && isRead !== true);
    expect(others.filter(({ role }) => role === "viewer" || role === "open")).toEqual([]);
  });
});

/** What would change something, if it were let through. */
const likelyBodies = [
  { text: "version: 1\nrules: []" },
  { state: "deny", reason: "a viewer" },
  { subjects: ["ip:203.0.113.7"], reason: "a viewer" },
  { subject: "tenant:acme", rule: "login", limit: "1/minute", reason: "a viewer" },
  { name: "mine", role: "admin" },
  { rule: "login", key: "ip:203.0.113.7", forMs: null },
];
