import { describe, expect, it, vi } from "vitest";
import { requestHandlerOf, requestOf } from "../../../test/handler-stand.js";
import { fixedWindow } from "../../limits/limits.js";
import { ManualClock } from "../../testing/manual-clock.js";
import type { ChallengeEvent, ChallengeProvider } from "./challenge-options.js";
import { PROVIDER_CALLS_MAX, ProviderCalls } from "./provider.js";

const SECRET = "a secret of at least thirty-two characters";
const limit = fixedWindow({ limit: 1, windowMs: 60_000 });
const RULES = [{ id: "login", limit, onExceed: "challenge" }];
const widget = {
  scriptUrl: "https://challenges.example.com/api.js",
  className: "cf-turnstile",
  siteKey: "0x4AAA",
};

async function standOf(provider: Partial<ChallengeProvider>) {
  const outcomes: string[] = [];
  const onChallenge = ({ kind, reason }: ChallengeEvent) => outcomes.push(reason ?? kind);
  const verify = vi.fn(async () => true);
  const challenge = { secrets: SECRET, onChallenge, provider: { verify, widget, ...provider } };
  const { requestHandler, clock } = requestHandlerOf(RULES, { challenge });
  const handle = async (headers: Record<string, string> = {}) =>
    requestHandler.handle(requestOf({ headers }));
  await handle();
  const { refusal } = await handle();
  const { challenge: offered } = JSON.parse(refusal?.body ?? "{}");
  const send = (token: string) => handle({ "sluice-pass": `${offered.token}.${token}` });
  return { clock, handle, offered, outcomes, send, verify };
}

describe("a provider of challenges", () => {
  it("is asked with the token and the facts, and its word lifts the limit once", async () => {
    const { handle, offered, outcomes, send, verify } = await standOf({});
    expect(offered).toMatchObject({ kind: "provider", siteKey: "0x4AAA" });
    expect((await send("XXXX.DUMMY.TOKEN")).refusal).toBeUndefined();
    const [[token, facts]] = verify.mock.calls as unknown as [[string, { ip: string }]];
    expect([token, facts.ip]).toEqual(["XXXX.DUMMY.TOKEN", "203.0.113.10"]);
    await handle();
    expect((await send("XXXX.DUMMY.TOKEN")).refusal?.status).toBe(429);
    expect(verify).toHaveBeenCalledTimes(1);
    expect(outcomes).toEqual(["issued", "passed", "issued", "replayed", "issued"]);
  });

  it("is not asked about a pass that was never issued, or a token that is none", async () => {
    const { handle, send, verify, outcomes } = await standOf({});
    await handle({ "sluice-pass": "a.p.b.c.d.token" });
    await send(`"><script>`);
    expect(verify).not.toHaveBeenCalled();
    expect(outcomes).toEqual(["issued", "forged", "issued", "rejected", "issued"]);
  });

  it("leaves its challenge good when what was sent as its token is none, which no cookie keeps either", async () => {
    const { handle, offered, send, outcomes } = await standOf({});
    const { refusal } = await handle({ "sluice-solution": `${offered.token}.a "token"` });
    expect([refusal?.status, refusal?.body]).toEqual([403, '{"reason":"rejected"}']);
    await send("a b");
    expect((await send("good-token")).refusal).toBeUndefined();
    expect(outcomes).toEqual(["issued", "rejected", "issued", "passed"]);
  });

  it("is asked a few times a second by a caller that sends any word with each new challenge", async () => {
    const { clock, handle, outcomes } = await standOf({ verify: async () => false });
    const flood = async () => {
      for (let i = 0; i < 100; i++) {
        const { refusal } = await handle();
        const { challenge } = JSON.parse(refusal?.body ?? "{}");
        await handle({ "sluice-pass": `${challenge.token}.junk${i}` });
      }
    };
    await flood();
    const count = (outcome: string) => outcomes.filter((each) => each === outcome).length;
    expect([count("rejected"), count("too-many")]).toEqual([20, 80]);
    clock.advance(1_000);
    await flood();
    expect(count("rejected")).toBe(25);
  });

  it.each([
    [false, "rejected"],
    [undefined, "rejected"],
    ["true", "rejected"],
  ])("whose answer is %j lifts nothing", async (answer, reason) => {
    const { send, outcomes } = await standOf({ verify: (async () => answer) as never });
    expect((await send("token")).refusal?.status).toBe(429);
    expect(outcomes).toContain(reason);
  });

  it("that fails or takes too long is a refusal, or a pass if the operator says so", async () => {
    const fails = () => Promise.reject(new Error("no network"));
    const refused = await standOf({ verify: fails });
    expect((await refused.send("token")).refusal?.status).toBe(429);
    expect(refused.outcomes).toContain("unavailable");
    const throws = await standOf({
      verify: () => {
        throw new Error("synchronously");
      },
    });
    expect((await throws.send("token")).refusal?.status).toBe(429);
    const accepted = await standOf({ verify: fails, onFailure: "accept" });
    expect((await accepted.send("token")).refusal).toBeUndefined();
    const slow = await standOf({ verify: () => new Promise(() => {}), timeoutMs: 500 });
    const sent = slow.send("token");
    await Promise.resolve();
    await Promise.resolve();
    slow.clock.advance(500);
    expect((await sent).refusal?.status).toBe(429);
  });

  it("is asked about at most 256 passes at a time; a further one is refused, and good later", async () => {
    const answers: ((isGood: boolean) => void)[] = [];
    const provider = {
      verify: () => new Promise<boolean>((resolve) => answers.push(resolve)),
      timeoutMs: 500,
      onFailure: "refuse",
      widget,
    } as const;
    const clock = new ManualClock(0);
    const calls = new ProviderCalls({ ...provider, widget: { ...widget, origins: [] } }, clock);
    const facts = { method: "GET", path: "/" };
    const asked = Array.from({ length: PROVIDER_CALLS_MAX }, () => calls.verify("token", facts));
    expect(calls.isFull).toBe(true);
    clock.advance(500);
    expect(await Promise.all(asked)).toEqual(asked.map(() => "unavailable"));
    // Calls that were given up are still under way.
    expect(calls.isFull).toBe(true);
    answers[0](true);
    await Promise.resolve();
    expect(calls.isFull).toBe(false);
  });

  it("is what the page loads, and all that its policy allows besides itself", async () => {
    const { handle } = await standOf({});
    const { refusal } = await handle({ accept: "text/html" });
    expect(refusal?.body).toContain(
      '<div class="cf-turnstile" data-sitekey="0x4AAA" data-callback="sluiceSolved"></div>',
    );
    expect(refusal?.body).toContain(
      '<script src="https://challenges.example.com/api.js" async defer></script>',
    );
    const fields = refusal?.fields ?? [];
    const policy = fields[fields.indexOf("Content-Security-Policy") + 1];
    expect(policy).toMatch(/script-src 'sha256-[^']+' https:\/\/challenges\.example\.com;/);
    expect(policy).not.toContain("unsafe");
  });
});
