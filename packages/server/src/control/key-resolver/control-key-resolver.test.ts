import { afterEach, describe, expect, it, vi } from "vitest";
import { FullKeyResolver } from "../../../test/control/full-key-resolver.js";
import type { EntityBody, EntityKind } from "../changes/entity.js";
import { type LastUses, STORED_MAX } from "../keys/key-uses.js";
import { fillFromSystem, makeSecret } from "../secret-format.js";
import { ControlState } from "../state/state.js";
import type { ControlKeyResolverOptions } from "./control-key-resolver.js";

const HOUR_MS = 3_600_000;
const START_MS = 500_000 * HOUR_MS;
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function makeKey(tenant: string, more: object = {}) {
  const { id, secret, hash } = makeSecret("apiKey", fillFromSystem);
  return { id, secret, body: { tenant, scopes: ["read"], hash, ...more } };
}

function stand(options: Partial<ControlKeyResolverOptions> = {}) {
  const state = new ControlState();
  const clock = { nowMs: START_MS };
  const asked: string[] = [];
  const elsewhere = new Map<string, EntityBody>();
  const resolver = new FullKeyResolver({
    state,
    lookUp: async (id) => {
      asked.push(id);
      return elsewhere.get(id);
    },
    lookupsPerSecond: 100,
    unknownKeys: "refuse",
    now: () => clock.nowMs,
    ...options,
  });
  closers.push(() => resolver.close());
  const put = (kind: EntityKind, entityId: string, after: EntityBody | undefined) => {
    resolver.changed(state.apply([{ sequence: state.sequence + 1, kind, entityId, after }]));
  };
  put("plan", "pro", { tier: "gold", limits: {} });
  put("tenant", "acme", { plan: "pro", attributes: { region: "eu" }, status: "active" });
  return { state, clock, asked, elsewhere, resolver, put };
}

describe("API keys of the control plane", () => {
  it("are resolved to tenant, plan, tier, scopes and attributes without waiting", () => {
    const { resolver, put, asked } = stand();
    const key = makeKey("acme");
    put("api-key", key.id, key.body);
    const resolved = {
      id: key.id,
      tenant: "acme",
      plan: "pro",
      tier: "gold",
      scopes: ["read"],
      attributes: { region: "eu" },
    };
    // Verified by its hash, then by its fingerprint.
    expect(resolver.resolve(key.secret)).toEqual(resolved);
    expect(resolver.resolve(key.secret)).toEqual(resolved);
    expect(asked).toEqual([]);
  });

  it("follow changes of key, tenant and plan from the next request on", () => {
    const { resolver, put } = stand();
    const key = makeKey("acme");
    put("api-key", key.id, key.body);
    expect(resolver.resolve(key.secret)).toMatchObject({ tier: "gold" });
    put("plan", "pro", { tier: "platinum", limits: {} });
    expect(resolver.resolve(key.secret)).toMatchObject({ tier: "platinum" });
    put("tenant", "acme", { status: "active" });
    expect(resolver.resolve(key.secret)).toMatchObject({ tenant: "acme", plan: null });
    put("api-key", key.id, { ...key.body, scopes: ["write"] });
    expect(resolver.resolve(key.secret)).toMatchObject({ scopes: ["write"] });
    put("api-key", key.id, undefined);
    return expect(resolver.resolve(key.secret)).resolves.toBeUndefined();
  });

  it("that are malformed, mistyped or of another secret are unknown, and cost no look-up", () => {
    const { resolver, put, asked } = stand();
    const key = makeKey("acme");
    put("api-key", key.id, key.body);
    const other = makeSecret("apiKey", fillFromSystem).secret;
    const mixed = `${key.secret.slice(0, 17)}${other.slice(17)}`;
    const attempts = [
      "",
      "__proto__",
      "slk_",
      "x".repeat(56),
      `${key.secret.slice(0, -1)}\u{1f511}`,
      key.secret.toLowerCase(),
      `slt_${key.secret.slice(4)}`,
      withHighBits(key.secret),
      mixed,
      makeSecret("accessToken", fillFromSystem).secret,
    ];
    const wrong = () => attempts.map((sent) => resolver.resolve(sent));
    expect(wrong()).toEqual(attempts.map(() => undefined));
    expect(resolver.resolve(key.secret)).toMatchObject({ id: key.id });
    expect(wrong()).toEqual(attempts.map(() => undefined));
    expect(asked).toEqual([]);
  });

  it("end when they expire", () => {
    const { resolver, put, clock } = stand();
    const key = makeKey("acme", { expiresAtMs: START_MS + 1 });
    put("api-key", key.id, key.body);
    expect(resolver.resolve(key.secret)).toBeDefined();
    clock.nowMs++;
    expect(resolver.resolve(key.secret)).toBeUndefined();
  });

  it("are counted as the first key of a chain of rotations", () => {
    const { resolver, put } = stand();
    const key = makeKey("acme", { countedAs: "firstfirst12" });
    put("api-key", key.id, key.body);
    expect(resolver.resolve(key.secret)).toMatchObject({ id: "firstfirst12" });
  });

  it("that were made a moment ago are looked up once, and revoked ones forgotten", async () => {
    const { resolver, put, asked, elsewhere } = stand();
    const key = makeKey("acme");
    elsewhere.set(key.id, key.body);
    const [a, b] = await Promise.all([resolver.resolve(key.secret), resolver.resolve(key.secret)]);
    expect([a, b]).toMatchObject([{ id: key.id, plan: "pro" }, { id: key.id }]);
    expect(resolver.resolve(key.secret)).toMatchObject({ id: key.id });
    expect(asked).toEqual([key.id]);
    // Made and revoked: both changes arrive.
    elsewhere.delete(key.id);
    put("api-key", key.id, key.body);
    put("api-key", key.id, undefined);
    expect(await resolver.resolve(key.secret)).toBeUndefined();
  });

  it("that are looked up need the right secret", async () => {
    const { resolver, elsewhere } = stand();
    const key = makeKey("acme");
    elsewhere.set(key.id, { ...key.body, hash: makeKey("acme").body.hash });
    expect(await resolver.resolve(key.secret)).toBeUndefined();
  });

  it("that are not known get what is configured while look-ups fail; known ones go on working", async () => {
    const lookUp = () => Promise.reject(new Error("away"));
    for (const [unknownKeys, answer] of [
      ["refuse", "unchecked"],
      ["anonymous", "anonymous"],
    ] as const) {
      const { resolver, put } = stand({ lookUp, unknownKeys });
      const key = makeKey("acme");
      put("api-key", key.id, key.body);
      expect(await resolver.resolve(makeKey("acme").secret)).toBe(answer);
      expect(resolver.resolve(key.secret)).toMatchObject({ id: key.id });
    }
  });

  it("that are invented reach the look-up at the configured rate", async () => {
    const { resolver, asked } = stand({ lookupsPerSecond: 5 });
    const answers = Array.from({ length: 2_000 }, () => resolver.resolve(makeKey("acme").secret));
    const all = await Promise.all(answers);
    expect(asked.length).toBeLessThan(50);
    expect(all.filter((answer) => answer === "unchecked").length).toBe(2_000 - asked.length);
  });

  it("are noted as used, once an hour", async () => {
    const stored: [string, number][][] = [];
    const storeUses = async (uses: LastUses) => void stored.push([...uses]);
    const { resolver, put, clock } = stand({ storeUses });
    const [a, b] = [makeKey("acme"), makeKey("acme")];
    put("api-key", a.id, a.body);
    put("api-key", b.id, b.body);
    resolver.resolve(a.secret);
    resolver.resolve(a.secret);
    await resolver.flushUses();
    expect(stored.splice(0)).toEqual([[[a.id, 500_000]]]);
    resolver.resolve(a.secret);
    clock.nowMs += HOUR_MS;
    await resolver.flushUses();
    expect(stored).toEqual([]);
    resolver.resolve(a.secret);
    resolver.resolve(b.secret);
    await resolver.flushUses();
    expect(stored.flat()).toEqual([
      [a.id, 500_001],
      [b.id, 500_001],
    ]);
  });

  it("are noted as used when they had to be looked up", async () => {
    const stored: [string, number][] = [];
    const key = makeKey("acme");
    const { resolver, put } = stand({
      storeUses: async (uses) => void stored.push(...uses),
      lookUp: async (id) => {
        put("api-key", id, key.body);
        return key.body;
      },
    });
    expect(await resolver.resolve(key.secret)).toMatchObject({ id: key.id });
    await resolver.flushUses();
    expect(stored).toEqual([[key.id, 500_000]]);
  });

  it("keep their noted uses while those can't be stored, the later hour of each", async () => {
    let isAway = true;
    const stored: [string, number][][] = [];
    const onUsesError = vi.fn();
    const storeUses = async (uses: LastUses) => {
      if (isAway) throw new Error("away");
      stored.push([...uses]);
    };
    const { resolver, put, clock } = stand({ storeUses, onUsesError });
    const keys = Array.from({ length: STORED_MAX + 1 }, () => makeKey("acme"));
    for (const { id, body, secret } of keys) {
      put("api-key", id, body);
      resolver.resolve(secret);
    }
    clock.nowMs += HOUR_MS;
    await resolver.flushUses();
    expect(onUsesError).toHaveBeenCalledExactlyOnceWith(new Error("away"));
    const [first] = keys;
    resolver.resolve(first?.secret ?? "");
    isAway = false;
    await resolver.flushUses();
    expect(stored.map(({ length }) => length)).toEqual([STORED_MAX, 1]);
    const hours = new Map(stored.flat());
    expect(hours.size).toBe(keys.length);
    expect(hours.get(first?.id ?? "")).toBe(500_001);
    expect([...hours.values()].filter((hour) => hour === 500_000)).toHaveLength(STORED_MAX);
  });
});

/** Another string whose id is read as the same bytes, if characters beyond ASCII are not refused. */
function withHighBits(secret: string): string {
  const [first, second] = [secret.charCodeAt(4), secret.charCodeAt(5)];
  return `${secret.slice(0, 4)}${String.fromCharCode(first | (second << 8))}${secret.slice(5)}`;
}
