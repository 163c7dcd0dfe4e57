import { describe, expect, it } from "vitest";
import { parseRules } from "../parse.js";

const ONE_LINE = `version: 1
rules:
  - { id: all, limit: 100/second }
  - { preset: login, path: /login, account: body:email }
`;

const WRITTEN_OUT = `version: 1
rules:
  - { id: all, limit: 100/second }
  - id: login-address
    match: { path: /login, methods: [POST] }
    key: ip
    limit: 20/15m
    when: { status: [401, 403] }
    escalate: { after: 20 refusals in 5m, blocks: [1m, 10m, 1h, 1d] }
  - id: login-network
    match: { path: /login, methods: [POST] }
    key: ipPrefix:24/48
    limit: 100/15m
    when: { status: [401, 403] }
    escalate: { after: 20 refusals in 5m, blocks: [1m, 10m, 1h, 1d] }
  - id: login-account
    match: { path: /login, methods: [POST] }
    key: body:email
    onMissing: refuse
    limit: 10/15m
    when: { status: [401, 403] }
`;

describe("preset: login", () => {
  it("is the same as the rules that it stands for, written out", () => {
    const [preset, written] = [parseRules(ONE_LINE), parseRules(WRITTEN_OUT)];
    expect(preset.version).toBe(written.version);
    expect(preset.rules.map(({ id }) => id)).toEqual([
      "all",
      "login-address",
      "login-network",
      "login-account",
    ]);
  });

  it("takes other numbers, statuses and names, and may be used twice", () => {
    const { rules } = parseRules({
      version: 1,
      rules: [
        { preset: "login", path: "/login" },
        {
          preset: "login",
          id: "token",
          path: ["/token", "/v2/token"],
          methods: ["POST", "PUT"],
          host: "id.example.com",
          account: "header:x-client",
          failures: [400, "5xx"],
          perAccount: "3/hour",
          escalate: { after: "5 refusals in 1m", blocks: ["1h"] },
          onExceed: "shadow",
        },
      ],
    });
    expect(rules.slice(3).map(({ id }) => id)).toEqual([
      "token-address",
      "token-network",
      "token-account",
    ]);
    const [address, , account] = rules.slice(3);
    expect(account.limits[0].capacity).toBe(3);
    expect(account).toMatchObject({ onExceed: "shadow", when: { statuses: [400, 5] } });
    expect(account.escalate).toBeUndefined();
    expect(address.match).toMatchObject({
      paths: ["/token", "/v2/token"],
      hosts: ["id.example.com"],
    });
    expect(address.escalate?.blocksMs).toEqual([3_600_000]);
  });

  it.each([
    ["an unknown preset", "{ preset: logn, path: /login }", "did you mean login?"],
    ["a missing path", "{ preset: login }", "path is missing"],
    ["an unknown field", "{ preset: login, path: /login, acount: ip }", "did you mean account?"],
    ["a bad limit", "{ preset: login, path: /login, perAccount: often }", "perAccount must be"],
  ])("refuses %s, and says where", (_, preset, message) => {
    const text = `version: 1\nrules:\n  - ${preset}\n`;
    expect(() => parseRules(text, { file: "rules.yaml" })).toThrow(message);
    expect(() => parseRules(text, { file: "rules.yaml" })).toThrow("rules.yaml:3");
  });

  it("refuses an id that another rule has", () => {
    const text =
      "version: 1\nrules:\n  - { id: login-network, limit: 1/second }\n  - { preset: login, path: /login }\n";
    expect(() => parseRules(text)).toThrow(
      "stands for login-network, which is the id of an earlier rule",
    );
  });
});
