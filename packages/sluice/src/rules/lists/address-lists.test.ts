import { describe, expect, it } from "vitest";
import { requestHandlerOf } from "../../../test/handler-stand.js";
import { createPolicy } from "../policy/create-policy.js";
import { callerBlocks } from "../policy/operator/caller-blocks.js";
import { readAddressList, readAddressListInSlices } from "./address-list.js";
import { AddressLists } from "./address-lists.js";

const listOf = (...lines: string[]) =>
  readAddressList([{ file: "list.txt", text: lines.join("\n") }]);
const facts = (ip: string) => ({ method: "GET", path: "/", ip });
const RULES = { version: 1, rules: [{ id: "one", key: "ip", limit: "1/minute" }] };

describe("a list", () => {
  it("has addresses and ranges of both families, in any notation, and ignores comments", () => {
    const list = listOf(
      "\uFEFF# a comment",
      "",
      "  203.0.113.7 # one",
      "198.51.100.0/24 ; SBL1\r",
      "2001:DB8:1::/48",
    );
    const lists = new AddressLists({ deny: list });
    expect(list.entries).toBe(3);
    const found = ["203.0.113.7", "::ffff:203.0.113.7", "198.51.100.255", "2001:db8:1:ffff::1"];
    for (const ip of found) expect([ip, lists.find(ip)]).toEqual([ip, "deny"]);
    const others = ["203.0.113.8", "198.51.101.0", "2001:db8:2::", "not an address", undefined];
    for (const ip of others) expect([ip, lists.find(ip)]).toEqual([ip, undefined]);
  });

  it("reports every bad line with its file and number, and is not used", () => {
    const text = "203.0.113.7\nexample.com\n10.0.0.1/8\n";
    expect(() => readAddressList([{ file: "deny.txt", text }])).toThrow(
      /deny\.txt:2: needs ranges such as .*"example\.com"\n {2}deny\.txt:3: "10\.0\.0\.1\/8" has bits behind its prefix: 10\.0\.0\.0\/8 or/,
    );
  });

  it("refuses a line that is too long, wherever what is wrong with it stands", () => {
    const long = `203.0.113.7${" ".repeat(2_000)}`;
    expect(() => listOf(`${long}198.51.100.0/24`)).toThrow(/list\.txt:1: needs ranges/);
    expect(listOf(`203.0.113.7 # ${"x".repeat(2_000)}`).entries).toBe(1);
  });

  it("reports at most twenty bad lines, and how many more there are", () => {
    const text = "x\n".repeat(25);
    expect(() => readAddressList([{ file: "deny.txt", text }])).toThrow(/and 5 more$/);
  });

  it("is the same when it is read in slices", async () => {
    const lines = Array.from({ length: 5_000 }, (_, i) => `10.${i >> 8}.${i & 255}.0/25`);
    const files = [{ file: "a", text: lines.join("\n") }];
    for (const list of [readAddressList(files), await readAddressListInSlices(files)]) {
      const lists = new AddressLists({ deny: list });
      expect(list.entries).toBe(5_000);
      expect([lists.find("10.3.7.127"), lists.find("10.3.7.128")]).toEqual(["deny", undefined]);
    }
  });
});

describe("a policy with lists", () => {
  it("refuses listed addresses before any rule, and charges nothing", async () => {
    const lists = new AddressLists({ deny: listOf("203.0.113.0/24") });
    const policy = createPolicy({ rules: RULES, lists });
    const refused = await policy.admit(facts("203.0.113.7"));
    expect(refused).toMatchObject({ allowed: false, reason: "blocked", rule: undefined });
    expect(refused.block).toMatchObject({ list: "deny" });
    expect(refused.charges).toEqual([]);
    expect(await policy.explain(facts("203.0.113.7"))).toMatchObject({
      allowed: false,
      block: { reason: "its address is in a denylist" },
    });
    expect((await policy.peek(facts("198.51.100.1"))).remaining).toBe(1);
  });

  it("counts nothing for addresses in the allowlist, and the denylist wins", async () => {
    const lists = new AddressLists({
      allow: listOf("203.0.113.0/24"),
      deny: listOf("203.0.113.7"),
    });
    const policy = createPolicy({ rules: RULES, lists });
    for (let i = 0; i < 5; i++) {
      const decision = await policy.admit(facts("203.0.113.8"));
      expect(decision).toMatchObject({ allowed: true, rule: undefined });
    }
    expect((await policy.admit(facts("203.0.113.7"))).allowed).toBe(false);
  });

  it("does not let an allowlist lift an operator's block", async () => {
    const policy = createPolicy({
      rules: RULES,
      lists: new AddressLists({ allow: listOf("203.0.113.0/24") }),
    });
    policy.blockCallers(callerBlocks([{ subject: "ip:203.0.113.9", reason: "fraud" }]));
    expect(await policy.admit(facts("203.0.113.9"))).toMatchObject({ reason: "blocked" });
  });

  it("is decided by new lists from the next request on", async () => {
    const lists = new AddressLists();
    const policy = createPolicy({ rules: RULES, lists });
    expect((await policy.admit(facts("203.0.113.7"))).allowed).toBe(true);
    lists.replace({ deny: listOf("203.0.113.7") });
    expect((await policy.admit(facts("203.0.113.7"))).block).toBeDefined();
    lists.replace({});
    expect((await policy.admit(facts("203.0.113.7"))).reason).toBe("limit");
  });

  it("answers 429 without Retry-After, and does not say which list", () => {
    const lists = new AddressLists({ deny: listOf("203.0.113.10") });
    const { handle } = requestHandlerOf([RULES.rules[0]], {}, { lists });
    const { refusal } = handle();
    expect(refusal?.status).toBe(429);
    expect(refusal?.fields).not.toContain("Retry-After");
    expect(refusal?.body).not.toContain("list");
  });

  it("takes nothing but lists", () => {
    expect(() => createPolicy({ rules: RULES, lists: ["203.0.113.7"] as never })).toThrow(
      "lists must be an AddressLists",
    );
  });
});
