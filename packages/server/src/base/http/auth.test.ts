import { describe, expect, it } from "vitest";
import { Auth, TOKEN_BYTES_MAX } from "./auth.js";

describe("with tokens", () => {
  const longest = "x".repeat(TOKEN_BYTES_MAX);
  const auth = new Auth(["first-token", "other-token", longest], "tokens");

  it.each([
    ["Bearer first-token", 0],
    ["bearer other-token", 1],
    ["BEARER   other-token  ", 1],
    [`Bearer ${longest}`, 2],
  ])("%.40s is let in as the token at place %i, by whatever name", (authorization, place) => {
    const headers = { authorization, host: "example.com" };
    expect(auth.admit(headers)).toBe(place);
    expect(auth.isAuthorized(headers)).toBe(true);
  });

  it.each([
    undefined,
    "",
    "Bearer",
    "Bearer ",
    "Bearer first-toke",
    "Bearer first-token2",
    "Bearer first-token other-token",
    "Basic first-token",
    "first-token",
    `Bearer ${longest}x`,
  ])("%.40s is 401, from this machine too", (authorization) => {
    const headers = { authorization, host: "localhost" };
    expect(() => auth.admit(headers)).toThrow(
      expect.objectContaining({ code: "SLUICE_UNAUTHORIZED" }),
    );
    expect(auth.isAuthorized(headers)).toBe(false);
  });
});

describe("without tokens", () => {
  it("lets in who names this machine, and whatever token they bring", () => {
    const auth = new Auth([], "tokens");
    for (const host of ["localhost:9090", "localhost:9090", "127.0.0.1", "[::1]:80"]) {
      expect(auth.admit({ host, authorization: "Bearer whatever" })).toBe(0);
    }
  });

  it("refuses others, and those that name nothing", () => {
    const auth = new Auth([], "tokens");
    for (const host of ["example.com", "", undefined, "localhost.example.com"]) {
      const refused = expect.objectContaining({ code: "SLUICE_FORBIDDEN" });
      expect(() => auth.admit({ host })).toThrow(refused);
      expect(auth.isAuthorized({ host })).toBe(false);
    }
  });
});

it.each(["", " ", "with space", "schlüssel", "x".repeat(TOKEN_BYTES_MAX + 1)])(
  "refuses the token %.20j, which could never be sent",
  (token) => {
    const opening = () => new Auth(["fine", token], "decision.tokens");
    expect(opening).toThrow("decision.tokens: a token has 1 to 512 visible ASCII characters");
  },
);
