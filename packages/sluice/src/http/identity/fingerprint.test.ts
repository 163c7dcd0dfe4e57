import { describe, expect, it } from "vitest";
import { requestOf } from "../../../test/http/http-request.js";
import type { HttpRequest } from "./http-request.js";
import { type IdentityOptions, toIdentity } from "./identity.js";

const TRUSTING: IdentityOptions = {
  trustedProxies: ["10.0.0.0/8"],
  fingerprintHeader: "X-JA4",
};
const JA4 = "t13d1516h2_8daaf6152771_e5627efa2ab1";

function fingerprintOf(request: Partial<HttpRequest>, options = TRUSTING): string | undefined {
  return toIdentity(options).read(requestOf(request)).fingerprint;
}

describe("a fingerprint", () => {
  it("is trusted from trusted proxies only, whatever the case of the header", () => {
    const headers = { "x-ja4": JA4 };
    expect(fingerprintOf({ peer: "10.0.0.1", headers })).toBe(JA4);
    expect(fingerprintOf({ peer: "203.0.113.7", headers })).toBeUndefined();
    expect(fingerprintOf({ peer: undefined, headers })).toBeUndefined();
  });

  it("is missing if the header is missing, blank or sent twice, by a client and a proxy", () => {
    const peer = "10.0.0.1";
    for (const value of [undefined, "", "  ", `${JA4}, ${JA4}`, [JA4, JA4]]) {
      expect(fingerprintOf({ peer, headers: { "x-ja4": value } })).toBeUndefined();
    }
  });

  it("is not known without the option, and its name has to be one of a header", () => {
    const headers = { "x-ja4": JA4 };
    expect(fingerprintOf({ peer: "10.0.0.1", headers }, { trustedProxies: ["10.0.0.0/8"] })).toBe(
      undefined,
    );
    expect(() => toIdentity({ fingerprintHeader: "x ja4" })).toThrow(/fingerprintHeader must be/);
  });
});
