import { AddressLists, callerBlocks, createPolicy, readAddressList } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { descriptor, limiterOf, openWith, START_MS } from "../../../test/envoy-harness.js";
import { ListedAddresses } from "./listed-addresses.js";

const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: remote_address
    rate_limit: { unit: hour, requests_per_unit: 1 }
`;
const listOf = (text: string) => readAddressList([{ file: "list.txt", text }]);
const lists = () =>
  new AddressLists({
    deny: listOf("203.0.113.0/24\n2001:db8:bad::/48"),
    allow: listOf("198.51.100.7\n203.0.113.9"),
  });
const policyOf = (clock: ManualClock) =>
  createPolicy({ rules: { version: 1, rules: [] }, lists: lists(), clock });

function stand() {
  const clock = new ManualClock(START_MS);
  const policy = policyOf(clock);
  const refused: (string | undefined)[] = [];
  const clients = new ListedAddresses(policy, ({ block }) => refused.push(block?.list));
  const limiter = limiterOf(FILE, clock, { clients, modes: { shadow: true, isQuota: false } });
  const ask = async (...entries: Record<string, string>[]) => {
    const descriptors = entries.map((each) => descriptor(each));
    const answer = await limiter.decide({ domain: "web", descriptors, hits: 0 });
    const codes = answer.statuses.map(({ code }) => code);
    return { code: answer.overallCode, codes, headers: answer.responseHeaders, answer };
  };
  return { clock, policy, refused, ask };
}

describe("lists of addresses, at Envoy's listener", () => {
  it("refuse an address in a denylist, in shadow mode too, and charge nothing", async () => {
    const { refused, ask } = stand();
    for (const ip of ["203.0.113.9", "2001:db8:bad::1", "::ffff:203.0.113.1"]) {
      const answer = await ask({ user: "a" }, { remote_address: ip });
      expect(answer).toMatchObject({ code: 2, codes: [1, 2], headers: [] });
    }
    expect(refused).toEqual(["deny", "deny", "deny"]);
    // A limit of one, which is not used up.
    expect((await ask({ user: "a" })).codes).toEqual([1]);
    expect((await ask({ user: "b" }, { remote_address: "192.0.2.1" })).codes).toEqual([1, 1]);
  });

  it("don't count an address in an allowlist, and leave requests without an address alone", async () => {
    const { ask } = stand();
    for (let i = 0; i < 3; i++) {
      const exempt = await ask({ user: "a" }, { remote_address: "198.51.100.7" });
      expect(exempt).toMatchObject({ code: 1, codes: [1, 1] });
    }
    // A limit of one, which the exempt requests have not used.
    expect((await ask({ user: "a" })).codes).toEqual([1]);
    expect((await ask({ user: "a" })).codes).toEqual([2]);
    const other = await ask({ remote_address: "198.51.100.7" }, { remote_address: "192.0.2.1" });
    expect(other.answer.statuses[1].currentLimit).toBeDefined();
  });

  it("are followed by blocks of operators, with the time that is left", async () => {
    const { clock, policy, ask } = stand();
    const block = { subject: "ip:192.0.2.0/28", endsAtMs: START_MS + 90_000, reason: "abuse" };
    policy.blockCallers(callerBlocks([block]));
    const answer = await ask({ remote_address: "192.0.2.1" });
    expect(answer).toMatchObject({ code: 2, headers: [{ key: "retry-after", value: "90" }] });
    clock.advance(90_000);
    expect((await ask({ remote_address: "192.0.2.1" })).code).toBe(1);
  });

  it("are those of the service, and count in its metrics", async () => {
    const { client, core } = await openWith(FILE, { policy: policyOf(new ManualClock(START_MS)) });
    const ask = (ip: string) => client.ask({ descriptors: [descriptor({ remote_address: ip })] });
    expect((await ask("203.0.113.1")).overallCode).toBe(2);
    expect((await ask("192.0.2.1")).overallCode).toBe(1);
    expect(await core.telemetry.metrics()).toMatch(/^rate_limiter_list_refusals_total\{.*\} 1$/m);
    core.policy.lists?.replace({});
    expect((await ask("203.0.113.1")).overallCode).toBe(1);
  });
});
