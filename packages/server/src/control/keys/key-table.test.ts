import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillFromSystem, makeSecret } from "../secret-format.js";
import { ControlState } from "../state/state.js";
import { type KeyBody, KeyTable, NO_SLOT } from "./key-table.js";

function makeKey(tenant: string, more: Partial<KeyBody> = {}) {
  const { id, secret, hash } = makeSecret("apiKey", fillFromSystem);
  return { id, secret, body: { tenant, scopes: [], hash, ...more } as KeyBody };
}

describe("a key table", () => {
  it("keeps what it was given, whatever is added, replaced and removed", () => {
    const keys = Array.from({ length: 40 }, (_, n) =>
      makeKey(`t${n % 7}`, n % 3 === 0 ? { scopes: [`s${n % 2}`], countedAs: `first${n}` } : {}),
    );
    const act = fc.record({
      key: fc.nat(keys.length - 1),
      isSet: fc.boolean(),
      expiresAtMs: fc.option(fc.nat(), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 300 }), (acts) => {
        const table = new KeyTable(fillFromSystem);
        const model = new Map<string, { body: object; sequence: number }>();
        for (const [sequence, { key, isSet, expiresAtMs }] of acts.entries()) {
          const { id, body: rest } = keys[key] as (typeof keys)[number];
          const body = expiresAtMs === undefined ? rest : { ...rest, expiresAtMs };
          if (isSet) {
            table.set(id, sequence, body);
            model.set(id, { body, sequence });
          } else expect(table.delete(id)).toBe(model.delete(id));
        }
        expect(table.size).toBe(model.size);
        for (const { id, secret } of keys) {
          const slot = table.find(id);
          const kept = model.get(id);
          expect(table.findSent(secret)).toBe(slot);
          expect(slot === NO_SLOT ? undefined : table.bodyOf(slot)).toEqual(kept?.body);
          if (slot === NO_SLOT) continue;
          expect([table.idOf(slot), table.sequenceOf(slot)]).toEqual([id, kept?.sequence]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("knows a verified key again and no other, also after it has moved", () => {
    const table = new KeyTable(fillFromSystem);
    const keys = Array.from({ length: 500 }, (_, n) => makeKey(`t${n}`));
    for (const { id, body } of keys) table.set(id, 1, body);
    for (const { secret } of keys) {
      expect(table.findVerified(secret)).toBe(NO_SLOT);
      expect(table.isVerified(table.findSent(secret))).toBe(false);
      table.setVerified(table.findSent(secret), secret);
    }
    for (const { id } of keys.slice(0, 250)) table.delete(id);
    for (const { secret } of keys.slice(0, 250)) expect(table.findVerified(secret)).toBe(NO_SLOT);
    for (const { id, secret } of keys.slice(250)) {
      expect(table.findVerified(secret)).toBe(table.findSent(secret));
      expect(table.idOf(table.findVerified(secret))).toBe(id);
      for (const at of [0, 3, 16, 17, 30, 48, 49, 55]) {
        const other = `${secret.slice(0, at)}${secret[at] === "a" ? "b" : "a"}${secret.slice(at + 1)}`;
        expect(table.findVerified(other)).toBe(NO_SLOT);
        const wide = `${secret.slice(0, at)}${String.fromCharCode(secret.charCodeAt(at) + 256)}${secret.slice(at + 1)}`;
        expect(table.findVerified(wide)).toBe(NO_SLOT);
      }
    }
  });

  it("forgets that a key was verified when its hash changes", () => {
    const table = new KeyTable(fillFromSystem);
    const { id, secret, body } = makeKey("acme");
    table.set(id, 1, body);
    table.setVerified(table.find(id), secret);
    table.set(id, 2, { ...body, hash: "0".repeat(64) });
    expect(table.findVerified(secret)).toBe(NO_SLOT);
    expect(table.isVerified(table.find(id))).toBe(false);
  });

  it.each([
    ["__proto__", "0".repeat(64)],
    ["short", "0".repeat(64)],
    ["0123456789ab", "0".repeat(63)],
    ["0123456789ab", "Z".repeat(64)],
    ["0123456789\u00e9b", "0".repeat(64)],
  ])("takes no key with the id %j and the hash %j", (id, hash) => {
    const table = new KeyTable(fillFromSystem);
    expect(table.set(id, 1, { tenant: "acme", scopes: [], hash })).toBe(false);
    expect(table.size).toBe(0);
  });

  it("takes 100,000 keys in less than 150 bytes each", () => {
    const hash = "ab".repeat(32);
    const table = new KeyTable(fillFromSystem);
    for (let n = 0; n < 100_000; n++) {
      table.set(n.toString(36).padStart(12, "0"), n, { tenant: `t${n % 1_000}`, scopes: [], hash });
    }
    expect(table.size).toBe(100_000);
    expect(table.bytes / 100_000).toBeLessThan(150);
  });
});

describe("the state of a node", () => {
  it("has API keys in its table only, and in its snapshot without what people read", () => {
    const { id, body } = makeKey("acme", { scopes: ["a"], expiresAtMs: 5 });
    const named = { ...body, name: "server", createdAtMs: 1 };
    const state = new ControlState({
      sequence: 3,
      entities: [{ kind: "api-key", id, sequence: 2, body: named }],
    });
    expect(state.find("api-key", id)).toEqual(body);
    expect([...state.all("api-key")]).toEqual([{ kind: "api-key", id, sequence: 2, body }]);
    expect(new ControlState(state.toSnapshot()).toSnapshot()).toEqual(state.toSnapshot());
    expect(state.count("api-key")).toBe(1);
    const gone = { sequence: 4, kind: "api-key", entityId: id, after: undefined } as const;
    expect([...state.apply([gone])]).toEqual(["api-key"]);
    expect(state.count("api-key")).toBe(0);
  });

  it("passes over a change that is older than the key in the snapshot", () => {
    const { id, body } = makeKey("acme");
    const state = new ControlState({
      sequence: 3,
      entities: [{ kind: "api-key", id, sequence: 5, body }],
    });
    const older = { sequence: 4, kind: "api-key", entityId: id, after: undefined } as const;
    expect(state.apply([older]).size).toBe(0);
    expect(state.find("api-key", id)).toEqual(body);
  });
});
