import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signWebhook, verifyWebhook, WEBHOOK_HEADERS } from "./webhooks.js";

const event = { id: "evt-1", type: "quota.reached", atMs: 1, data: { meter: "exports" } };
const body = JSON.stringify(event);
const secret = "a-secret-of-the-webhook";
const sentAtMs = Date.UTC(2026, 4, 1);

function sign(secrets: readonly string[] = [secret]) {
  return signWebhook({ eventId: event.id, body, secrets, nowMs: sentAtMs });
}

function verify(change: Partial<Parameters<typeof verifyWebhook>[0]> = {}) {
  return verifyWebhook({ body, headers: sign(), secret, nowMs: sentAtMs, ...change });
}

describe("signWebhook", () => {
  it("signs the timestamp in seconds, a dot and the body with HMAC-SHA256", () => {
    const hex = createHmac("sha256", secret)
      .update(`${sentAtMs / 1_000}.${body}`)
      .digest("hex");
    expect(sign()).toEqual({
      "sluice-event-id": "evt-1",
      "sluice-timestamp": String(sentAtMs / 1_000),
      "sluice-signature": `v1=${hex}`,
    });
  });
});

describe("verifyWebhook", () => {
  it("gives the event of a genuine request, with the headers of node:http and of fetch", () => {
    expect(verify()).toEqual({ valid: true, event });
    expect(verify({ headers: new Headers({ ...sign() }) })).toEqual({ valid: true, event });
    expect(verify({ body: Buffer.from(body) })).toEqual({ valid: true, event });
  });

  it("accepts any of the secrets on either side while one is rotated", () => {
    expect(verify({ secret: ["another", secret] })).toMatchObject({ valid: true });
    const both = sign(["new-secret", secret]);
    for (const known of ["new-secret", secret, ["other", "new-secret"]])
      expect(verify({ headers: both, secret: known })).toMatchObject({ valid: true });
    expect(verify({ headers: both, secret: "third" })).toMatchObject({ valid: false });
  });

  it("refuses another body, another time and another secret", () => {
    const wrong = { valid: false, problem: "signature-wrong" };
    expect(verify({ body: body.replace("exports", "imports") })).toEqual(wrong);
    expect(verify({ secret: "another" })).toEqual(wrong);
    const later = { ...sign(), [WEBHOOK_HEADERS.timestamp]: String(sentAtMs / 1_000 + 60) };
    expect(verify({ headers: later })).toEqual(wrong);
  });

  it("accepts exactly five minutes of age, and refuses a millisecond more, in either direction", () => {
    expect(verify({ nowMs: sentAtMs + 300_000 })).toMatchObject({ valid: true });
    expect(verify({ nowMs: sentAtMs + 300_001 })).toMatchObject({ problem: "timestamp-old" });
    expect(verify({ nowMs: sentAtMs - 300_000 })).toMatchObject({ valid: true });
    expect(verify({ nowMs: sentAtMs - 300_001 })).toMatchObject({ problem: "timestamp-ahead" });
    expect(verify({ nowMs: sentAtMs + 2_000, toleranceMs: 1_000 })).toMatchObject({ valid: false });
  });

  it.each([
    ["no headers", {}],
    ["no signature", { "sluice-timestamp": "1777593600" }],
    ["a signature of another scheme", { ...sign(), "sluice-signature": "v0=00" }],
    ["a timestamp that is not a number", { ...sign(), "sluice-timestamp": "1e9" }],
    ["a header twice", { ...sign(), "sluice-timestamp": ["1777593600", "1777593600"] }],
  ])("refuses a request with %s", (_, headers) => {
    expect(verify({ headers })).toEqual({ valid: false, problem: "header-missing" });
  });

  it.each(["v1=", "v1=zz", "v1=00", `v1=${"0".repeat(64)}`, ",,,,,,v1=00"])(
    "refuses the signature %s",
    (signature) => {
      const headers = { ...sign(), "sluice-signature": signature };
      expect(verify({ headers })).toMatchObject({ valid: false });
    },
  );

  it("looks at a bounded number of signatures", () => {
    const { "sluice-signature": real } = sign();
    const many = [...Array.from({ length: 1_000 }, () => "v1=00"), real].join(",");
    expect(verify({ headers: { ...sign(), "sluice-signature": many } })).toMatchObject({
      problem: "signature-wrong",
    });
  });

  it.each(["[]", "null", "{", '{"id":1}'])("refuses the signed body %s", (other) => {
    const headers = signWebhook({ eventId: "e", body: other, secrets: [secret], nowMs: sentAtMs });
    expect(verify({ body: other, headers })).toEqual({ valid: false, problem: "body-invalid" });
  });

  it.each([[""], [[]], [["good", ""]]])("throws for the secret %j, and shows none", (bad) => {
    expect(() => verify({ secret: bad })).toThrow("must be a non-empty string");
    expect(() => verify({ secret: bad })).not.toThrow("good");
  });
});
