// Challenges as a script meets them: what is offered, what a pass is worth, and everything that is not a pass.

import { describe, expect, it, vi } from "vitest";
import { byName, requestHandlerOf } from "../../../test/handler-stand.js";
import { fixedWindow } from "../../limits/limits.js";
import { PassClaims } from "../../rules/policy/pass-claims.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import type { HandledRequest } from "../handler/handled-request.js";
import type { HttpRequest } from "../identity/http-request.js";
import type { ChallengeEvent, ChallengeOptions } from "./challenge-options.js";
import { ChallengeTokens } from "./challenge-token.js";
import { solveChallenge } from "./proof-of-work.js";

const SECRET = "a secret of at least thirty-two characters";
const two = fixedWindow({ limit: 2, windowMs: 60_000 });
const LOGIN = { id: "login", limit: two, onExceed: "challenge" };

function standOf(
  rules: readonly object[] = [LOGIN],
  options: Partial<ChallengeOptions> = {},
  policy: Parameters<typeof requestHandlerOf>[2] = {},
) {
  const events: ChallengeEvent[] = [];
  const onChallenge = (event: ChallengeEvent) => events.push(event);
  const challenge = { secrets: SECRET, difficulty: 4, onChallenge, ...options };
  const stand = requestHandlerOf(rules, { challenge }, policy);
  const outcomes = () => events.map(({ kind, reason }) => reason ?? kind);
  return { ...stand, events, outcomes };
}

type Stand = ReturnType<typeof standOf>;

/** Uses up the limit, and returns the challenge that the next request gets. */
function exhaust({ handle }: Stand, request: Partial<HttpRequest> = {}) {
  for (let i = 0; i < 100; i++) {
    const { refusal } = handle(request);
    if (refusal !== undefined) return challengeOf(refusal);
  }
  throw new Error("never refused");
}

function challengeOf(refusal: HandledRequest["refusal"]) {
  const { challenge } = JSON.parse(refusal?.body ?? "{}");
  return challenge as { kind: string; token: string; bits: number; header: string };
}

const withPass = (pass: string): Partial<HttpRequest> => ({ headers: { "sluice-pass": pass } });

describe("a refusal by a rule with onExceed: challenge", () => {
  it("is a 429 with Retry-After whose problem body has the challenge", () => {
    const stand = standOf();
    exhaust(stand);
    const { refusal, lines } = stand.handle();
    expect(refusal).toMatchObject({ status: 429, reason: "limit" });
    expect(byName(refusal?.fields ?? [])).toMatchObject({
      "cache-control": "no-store",
      "content-type": "application/problem+json",
      "retry-after": "60",
    });
    expect(lines).toContain("RateLimit: ");
    expect(JSON.parse(refusal?.body ?? "")).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Too Many Requests",
      status: 429,
      code: "RATE_LIMIT_EXCEEDED",
      detail: "The rate limit is exceeded. Try again in 1 minute.",
      "violated-policies": ["login"],
      retryAfterMs: 60_000,
      challenge: {
        kind: "sha256",
        bits: 4,
        token: expect.stringMatching(/^[\w-]+\.4\.[\w-]{16}\.[\w-]{22}\.[\w-]{32}$/),
        expiresInMs: 120_000,
        header: "Sluice-Pass",
      },
    });
  });

  it("shows neither the key nor the rule in its token", () => {
    const stand = standOf([{ ...LOGIN, key: "header:x-account", expose: false }]);
    const headers = { "x-account": "ann@example.com" };
    const { token } = exhaust(stand, { headers });
    expect(token).not.toMatch(/ann|login/);
    expect(stand.handle({ headers }).refusal?.body).toContain('"violated-policies":[]');
  });

  it("is a page for a browser, and for no other client", () => {
    const stand = standOf();
    exhaust(stand);
    const typeOf = (accept?: string) => {
      const headers = accept === undefined ? {} : { accept };
      return byName(stand.handle({ headers }).refusal?.fields ?? [])["content-type"];
    };
    const page = "text/html; charset=utf-8";
    const problem = "application/problem+json";
    expect(typeOf("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")).toBe(page);
    expect(typeOf("TEXT/HTML;q=0.1")).toBe(page);
    expect(typeOf("*/*")).toBe(problem);
    expect(typeOf("application/json")).toBe(problem);
    expect(typeOf("text/htmlx")).toBe(problem);
    expect(typeOf()).toBe(problem);
  });

  it("is a page that names the wait in words where there is no JavaScript, as the problem body does", () => {
    const limit = fixedWindow({ limit: 2, windowMs: 5_400_000 });
    const stand = standOf([{ ...LOGIN, limit }]);
    exhaust(stand);
    const { refusal } = stand.handle({ headers: { accept: "text/html" } });
    expect(refusal?.body).toContain("Without it, try again in 1 hour 30 minutes.");
  });

  it("offers nothing where a pass would not help", async () => {
    const strict = { id: "strict", limit: fixedWindow({ limit: 2, windowMs: 60_000 }) };
    const both = standOf([LOGIN, strict]);
    both.handle();
    both.handle();
    expect(challengeOf(both.handle().refusal)).toBeUndefined();
    const blocked = standOf();
    await blocked.requestHandler.policy.block("login", "ip:203.0.113.10", 60_000);
    expect(challengeOf(blocked.handle().refusal)).toBeUndefined();
    const never = standOf([{ ...LOGIN, cost: { header: "x-cost", max: 9 } }]);
    const { refusal } = never.handle({ headers: { "x-cost": "9" } });
    expect(refusal).toMatchObject({ status: 429, retryAfterMs: Number.POSITIVE_INFINITY });
    expect(challengeOf(refusal)).toBeUndefined();
  });

  it("is a plain refusal, and warns once, where nothing is configured to challenge with", () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const { handle } = requestHandlerOf([LOGIN]);
    for (let i = 0; i < 4; i++) handle();
    const { refusal } = handle();
    expect(refusal?.status).toBe(429);
    expect(challengeOf(refusal)).toBeUndefined();
    const codes = warn.mock.calls.map(([, options]) => (options as { code: string }).code);
    warn.mockRestore();
    expect(codes).toEqual(["SLUICE_CHALLENGE_UNSET"]);
  });
});

describe("a pass", () => {
  it("gives back all that its key used under its rule, once", () => {
    const stand = standOf();
    const pass = solveChallenge(exhaust(stand));
    expect(stand.handle(withPass(pass))).toMatchObject({ refusal: undefined, remaining: 1 });
    expect(stand.handle().refusal).toBeUndefined();
    expect(stand.handle(withPass(pass)).refusal?.status).toBe(429);
    expect(stand.outcomes()).toEqual(["issued", "passed", "replayed", "issued"]);
  });

  it("that is sent again and again reaches the store a few times a second, and holds up no other caller", () => {
    const claim = vi.spyOn(PassClaims.prototype, "claim");
    const stand = standOf([{ ...LOGIN, key: "header:x-account" }]);
    const from = (peer: string, pass = "") => {
      const headers = { "x-account": "ann", "sluice-pass": pass };
      return stand.handle({ headers, peer }).refusal;
    };
    const exhaustAnn = () => exhaust(stand, { headers: { "x-account": "ann" } });
    const pass = solveChallenge(exhaustAnn());
    const next = solveChallenge(exhaustAnn());
    expect(from("203.0.113.10", pass)).toBeUndefined();
    exhaustAnn();
    for (let i = 0; i < 500; i++) expect(from("203.0.113.10", pass)?.status).toBe(429);
    expect(claim).toHaveBeenCalledTimes(20);
    expect(stand.outcomes()).toContain("too-many");
    expect(from("203.0.113.11", next)).toBeUndefined();
    exhaustAnn();
    stand.clock.advance(1_000);
    for (let i = 0; i < 50; i++) from("203.0.113.10", pass);
    expect(claim).toHaveBeenCalledTimes(20 + 1 + 5);
    claim.mockRestore();
  });

  it("gives back passUnits where the rule says so", () => {
    const ten = fixedWindow({ limit: 10, windowMs: 60_000 });
    const stand = standOf([{ ...LOGIN, limit: ten, passUnits: 3 }]);
    const pass = solveChallenge(exhaust(stand));
    expect(stand.handle(withPass(pass))).toMatchObject({ refusal: undefined, remaining: 2 });
  });

  it.each([
    "5/minute",
    { tokenBucket: { capacity: 5, refillPerSecond: 0.1 } },
    { slidingWindowCounter: { limit: 5, windowMs: 60_000 } },
    { slidingWindowLog: { limit: 5, windowMs: 60_000 } },
    { fixedWindow: { limit: 5, windowMs: 60_000, align: "first" } },
    { leakyBucket: { ratePerSecond: 0.1, queueSize: 4, mode: "meter" } },
    { quota: { limit: 5, period: "day" } },
  ])("lifts %j", (limit) => {
    const stand = standOf([{ ...LOGIN, limit }]);
    const pass = solveChallenge(exhaust(stand));
    const { refusal, remaining } = stand.handle(withPass(pass));
    expect({ refusal, isLifted: remaining >= 3 }).toEqual({ refusal: undefined, isLifted: true });
  });

  it("is looked at only if the request would be refused, and is kept until then", () => {
    const stand = standOf();
    const pass = solveChallenge(exhaust(stand));
    stand.clock.advance(60_000);
    expect(stand.handle(withPass(pass))).toMatchObject({ remaining: 1 });
    expect(stand.handle(withPass(pass))).toMatchObject({ remaining: 0 });
    expect(stand.handle(withPass(pass))).toMatchObject({ refusal: undefined, remaining: 1 });
    expect(stand.outcomes()).toEqual(["issued", "passed"]);
  });

  it("works out of the cookie, and out of the header beside a used one", () => {
    const stand = standOf();
    const first = solveChallenge(exhaust(stand));
    const cookie = { cookie: `a=b; sluice-pass=${first}` };
    expect(stand.handle({ headers: cookie }).refusal).toBeUndefined();
    const second = solveChallenge(exhaust(stand));
    const headers = { ...cookie, "sluice-pass": second };
    expect(stand.handle({ headers }).refusal).toBeUndefined();
  });

  it("is reported to onDecision as the one decision that counts", () => {
    const decisions: boolean[] = [];
    const onDecision = ({ allowed }: { allowed: boolean }) => decisions.push(allowed);
    const stand = standOf([LOGIN], {}, { onDecision });
    const pass = solveChallenge(exhaust(stand));
    stand.handle(withPass(pass));
    expect(decisions).toEqual([true, true, false, true]);
  });

  it("is good once for all handlers over one store, and for those with the secret only", () => {
    const store = memoryStore();
    const [one, other] = [standOf([LOGIN], {}, { store }), standOf([LOGIN], {}, { store })];
    const pass = solveChallenge(exhaust(one));
    expect(other.handle(withPass(pass)).refusal).toBeUndefined();
    exhaust(one);
    expect(one.handle(withPass(pass)).refusal?.status).toBe(429);
    const stranger = standOf([LOGIN], { secrets: `another ${SECRET}` }, { store });
    const fresh = solveChallenge(exhaust(one));
    expect(stranger.handle(withPass(fresh)).refusal?.status).toBe(429);
    expect(stranger.outcomes()).toEqual(["forged", "issued"]);
  });

  it("of an older secret is accepted while that is listed, and new ones are signed by the first", () => {
    const store = memoryStore();
    const before = standOf([LOGIN], { secrets: SECRET }, { store });
    const pass = solveChallenge(exhaust(before));
    const after = standOf([LOGIN], { secrets: [`new ${SECRET}`, SECRET] }, { store });
    expect(after.handle(withPass(pass)).refusal).toBeUndefined();
    const { token } = exhaust(after);
    expect(new ChallengeTokens([`new ${SECRET}`]).read(token)).toBeDefined();
    expect(new ChallengeTokens([SECRET]).read(token)).toBeUndefined();
  });

  it("is refused after its rule is gone, without an error", () => {
    const stand = standOf();
    const pass = solveChallenge(exhaust(stand));
    stand.requestHandler.policy.replace({
      version: 1,
      rules: [{ ...LOGIN, id: "other" }],
    });
    exhaust(stand);
    expect(stand.handle(withPass(pass)).refusal?.status).toBe(429);
    expect(stand.outcomes()).toContain("other-key");
  });
});

describe("what is not a pass", () => {
  it("is one that has expired, to the millisecond, or comes from a clock far ahead", () => {
    const rules = [{ ...LOGIN, limit: fixedWindow({ limit: 2, windowMs: 3_600_000 }) }];
    const stand = standOf(rules);
    const pass = solveChallenge(exhaust(stand));
    stand.clock.advance(120_000);
    expect(stand.handle(withPass(pass)).refusal?.status).toBe(429);
    stand.clock.advance(-1);
    expect(stand.handle(withPass(pass)).refusal).toBeUndefined();
    // Another server with the same secrets.
    const behind = standOf(rules);
    behind.clock.set(stand.clock.now() - 4_000);
    exhaust(behind);
    expect(behind.handle(withPass(solveChallenge(exhaust(stand)))).refusal).toBeUndefined();
    exhaust(behind);
    behind.clock.advance(-2_000);
    expect(behind.handle(withPass(solveChallenge(exhaust(stand)))).refusal?.status).toBe(429);
    const isExpired = (outcome: string) => outcome === "expired";
    expect(stand.outcomes().filter(isExpired)).toHaveLength(1);
    expect(behind.outcomes().filter(isExpired)).toHaveLength(1);
  });

  it("is one for another caller or another rule", () => {
    const search = { ...LOGIN, id: "search", match: { path: "/search" } };
    const login = { ...LOGIN, match: { path: "/login" } };
    const stand = standOf([login, search]);
    const target = "/login";
    const pass = solveChallenge(exhaust(stand, { target }));
    exhaust(stand, { target: "/search" });
    exhaust(stand, { target, peer: "203.0.113.11" });
    const { headers } = withPass(pass) as { headers: Record<string, string> };
    expect(stand.handle({ target: "/search", headers }).refusal?.status).toBe(429);
    expect(stand.handle({ target, headers, peer: "203.0.113.11" }).refusal?.status).toBe(429);
    expect(stand.handle({ target, headers }).refusal).toBeUndefined();
    expect(stand.outcomes().filter((outcome) => outcome === "other-key")).toHaveLength(2);
  });

  it("is one that was changed anywhere: expiry, difficulty, id, binding, signature, solution", () => {
    const stand = standOf([LOGIN], { difficulty: 8 });
    const { token, bits } = exhaust(stand);
    const pass = solveChallenge({ token, bits });
    const parts = token.split(".");
    const swap = (part: number, value: string) =>
      [...parts.slice(0, part), value, ...parts.slice(part + 1)].join(".");
    const eased = solveChallenge({ token: swap(1, "1"), bits: 1 });
    const forged = [
      eased,
      solveChallenge({ token: swap(0, "zzzzzzzz"), bits }),
      solveChallenge({ token: swap(2, "A".repeat(16)), bits }),
      solveChallenge({ token: swap(3, "A".repeat(22)), bits }),
      solveChallenge({ token: swap(4, "A".repeat(32)), bits }),
      token,
      `${token}.`,
      `${pass}.1`,
      `${token}.${" ".repeat(4)}`,
    ];
    for (const each of forged) expect(stand.handle(withPass(each)).refusal?.status).toBe(429);
    expect(stand.handle(withPass(pass)).refusal).toBeUndefined();
    expect(stand.outcomes()).not.toContain("other-key");
  });

  it("is anything else, however long or odd, at the cost of a few hashes of short strings", () => {
    const stand = standOf();
    const { token } = exhaust(stand);
    const odd = [
      "",
      ".",
      ".....",
      "......",
      "p.p.p.p.p.p",
      "\u{1f600}.\u0000.\ud800.%00.__proto__.1",
      `${token}.\u0661`,
      `${token}.${"0".repeat(17)}`,
      `${token}.${"0".repeat(1_000_000)}`,
      ".".repeat(1_000_000),
      `${"a".repeat(100_000)}.4.a.b.c.0`,
      `${token.toUpperCase()}.0`,
    ];
    const update = vi.spyOn(ChallengeTokens.prototype, "read");
    for (const each of odd) expect(stand.handle(withPass(each)).refusal?.status).toBe(429);
    expect(Math.max(...update.mock.calls.map(([text]) => text.length))).toBeLessThan(4_096);
    update.mockRestore();
    expect(stand.outcomes()).not.toContain("passed");
  });

  it("is one of two that a request sends under one name", () => {
    const stand = standOf();
    const pass = solveChallenge(exhaust(stand));
    const headers = { "sluice-pass": [pass, "x"] };
    expect(stand.handle({ headers }).refusal?.status).toBe(429);
    const cookie = `sluice-pass=${pass}; sluice-pass=x`;
    expect(stand.handle({ headers: { cookie } }).refusal?.status).toBe(429);
  });

  it("is one that was solved before it was issued: callers can't sign challenges of their own", () => {
    const stand = standOf();
    exhaust(stand);
    const binding = { rule: "login", key: "ip:203.0.113.10", place: "" };
    const task = { kind: "work", bits: 1 } as const;
    const expiresAtMs = stand.clock.now() + 60_000;
    const own = new ChallengeTokens(["guessed"]).sign({ expiresAtMs, task, id: "x" }, binding);
    const pass = solveChallenge({ token: own, bits: 1 });
    expect(stand.handle(withPass(pass)).refusal?.status).toBe(429);
    const real = new ChallengeTokens([SECRET]).sign({ expiresAtMs, task, id: "x" }, binding);
    // With the secret it would have been one: the test above fails for the right reason.
    expect(
      stand.handle(withPass(solveChallenge({ token: real, bits: 1 }))).refusal,
    ).toBeUndefined();
  });
});

describe("a pass as a cookie", () => {
  const solve = (stand: Stand, suffix = "") => {
    const pass = solveChallenge(exhaust(stand));
    const { refusal } = stand.handle({ headers: { "sluice-solution": pass + suffix } });
    return { pass, refusal, cookie: byName(refusal?.fields ?? [])["set-cookie"] };
  };

  it("is set for the browser alone, for as long as it is good, and the request goes no further", () => {
    const stand = standOf();
    const { pass, refusal, cookie } = solve(stand);
    expect(refusal).toMatchObject({ status: 200, body: '{"goodForMs":120000}' });
    expect(cookie).toBe(`sluice-pass=${pass}; Path=/; Max-Age=120; HttpOnly; SameSite=Lax`);
    expect(stand.handle({ headers: { cookie: `sluice-pass=${pass}` } }).remaining).toBe(1);
  });

  it("is Secure where the page was loaded over https", () => {
    expect(solve(standOf(), ";secure").cookie).toMatch(/; SameSite=Lax; Secure$/);
    expect(solve(standOf(), ";Domain=example.com").cookie).not.toContain("example.com");
  });

  it("is not set for what is not a pass, and never echoes it", () => {
    const stand = standOf();
    const { token } = exhaust(stand);
    for (const solution of ["x", `${token}.!`, "a\r\nSet-Cookie: b=c", `${token}.0;secure,b=c`]) {
      const { refusal } = stand.handle({ headers: { "sluice-solution": solution } });
      expect(refusal?.status).toBe(403);
      expect(JSON.stringify(refusal)).not.toContain("et-Cookie");
      expect(refusal?.body).toMatch(/^\{"reason":"(forged|unsolved)"\}$/);
    }
  });

  it("is not asked for where no rule challenges: the header is the application's", () => {
    const { handle } = requestHandlerOf([{ id: "r", limit: two }], {
      challenge: { secrets: SECRET },
    });
    expect(handle({ headers: { "sluice-solution": "x" } }).refusal).toBeUndefined();
  });
});

describe("options of challenges", () => {
  it.each<[object, RegExp]>([
    [{}, /secrets/],
    [{ secrets: "short" }, /secrets/],
    [{ secrets: "0123456789abcdefghij" }, /at least 32 characters, got 20/],
    [{ secrets: [SECRET, SECRET] }, /secrets has one twice/],
    [{ secrets: SECRET, difficulty: 0 }, /difficulty must be a whole number from 1 to 28/],
    [{ secrets: SECRET, lifetimeMs: 5 }, /lifetimeMs must be/],
    [{ secrets: SECRET, provider: {} }, /provider\.verify/],
    [
      {
        secrets: SECRET,
        provider: {
          verify: () => true,
          widget: { scriptUrl: 'https://a.example/"><script>', className: "a", siteKey: "b" },
        },
      },
      /provider\.widget\.scriptUrl must be an https:\/\/ URL/,
    ],
    [{ secrets: SECRET, colour: 1 }, /unknown option "colour"/],
  ])("%j is refused", (challenge, message) => {
    const http = { challenge: challenge as ChallengeOptions };
    expect(() => requestHandlerOf([LOGIN], http)).toThrow(message);
  });
});
