import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPath, toPathSegments } from "./normalize-path.js";

/** Ways to write the path of one rule, `/api/login`. */
const SAME = [
  "/api/login",
  "/api/login/",
  "/api/login//",
  "//api/login",
  "///api///login///",
  "/api//login",
  "/API/LOGIN",
  "/Api/Login",
  "/api/logiN/",
  "/api/login?",
  "/api/login?x=1",
  "/api/login?next=/other/path",
  "/api/login/?x",
  "/api/login#top",
  "/api/login/#/other",
  "/api/login?a#b",
  "/api/login#a?b",
  "/./api/login",
  "/api/./login",
  "/api/login/.",
  "/api/login/./",
  "/api/x/../login",
  "/api/x/y/../../login",
  "/x/../api/login",
  "/../api/login",
  "/../../../api/login",
  "/api/login/x/..",
  "/api/login/x/../",
  "/api/x/.././login",
  "/api/%2e/login",
  "/api/%2E/login",
  "/api/x/%2e%2e/login",
  "/api/x/.%2e/login",
  "/api/x/%2E./login",
  "/%61pi/login",
  "/api/%6cogin",
  "/api/%6Cogin",
  "/api/%4Cogin",
  "/%61%70%69/%6c%6f%67%69%6e",
  "/%41%50%49/login",
  "/api/login;v=1",
  "/api;v=1/login",
  "/api;a=1;b=2/login;c",
  "/api/login;",
  "/api/;/login",
  "/api/;x=y/login",
  "/api/x/..;/login",
  "/api/x/..;v=1/login",
  "/api/.;x/login",
  "/api/login/;jsessionid=1",
  "/api\\login",
  "\\api\\login",
  "/api/\\login\\",
  "api/login",
  "http://example.com/api/login",
  "https://example.com:8443/api/login?x",
  "HTTP://user:pass@EXAMPLE.com//API/login",
  "http://[2001:db8::1]:80/api/login",
  "http://example.com\\api\\login",
  "coap+tcp://example.com/api/login",
  "/api/login/%2e%2e/login",
  "/api/%6C%6f%67in;x?y#z",
  "/API/./x/%2E%2e;z//LOGIN/?q#f",
];

const OTHER = [
  "/",
  "",
  "/api",
  "/login",
  "/api/logins",
  "/api/login/x",
  "/x/api/login",
  "/api/x/login",
  "/api/login/..",
  "/api/../login",
  "/api/login%20",
  "/api/login%00",
  "/api%2Flogin",
  "/api%2flogin",
  "/api%5Clogin",
  "/api/%256cogin",
  "/api/login%3Bx",
  "/api/x/..%3B/login",
  "/api/login%3Fx",
  "/api/login%23",
  "/api/login%2F",
  "/api/%6/login",
  "/api/lo%gin",
  "/api/login.",
  "/api/.../login",
  "/?/api/login",
  "/api?/login",
  "http://example.com",
  "http://example.com?/api/login",
  "/http://example.com/api/login",
];

describe("a path", () => {
  it.each(SAME)("written %j is /api/login", (target) => {
    expect(toPathSegments(target)).toEqual(["api", "login"]);
  });

  it.each(OTHER)("written %j is another one", (target) => {
    expect(toPathSegments(target)).not.toEqual(["api", "login"]);
  });

  it("keeps an escaped slash inside its segment", () => {
    expect(toPathSegments("/a%2Fb/c%5cd")).toEqual(["a/b", "c\\d"]);
  });

  it.each([
    "/api%2Flogin",
    "/api%2flogin?x",
    "/x/..%2Fapi/login",
    "/api%5Clogin",
    "/api/x%2F..%5c/login",
    "/api%2F;x/login",
  ])("is also read as servers do that unescape slashes: %s", (target) => {
    expect(readPath(target).others).toContainEqual(["api", "login"]);
  });

  it("is unescaped once", () => {
    const { segments, others } = readPath("/api%252Flogin/%252e%252e");
    expect([segments, others]).toEqual([["api%2flogin", "%2e%2e"], []]);
  });

  it("is the same in every Unicode form and case", () => {
    const forms = ["/caf%C3%A9", "/cafe%CC%81", "/CAF%C3%89", "/café", "/cafe\u0301", "/CAFÉ"];
    for (const form of forms) expect(toPathSegments(form)).toEqual(["café"]);
    expect(toPathSegments("/%CE%9F%CE%94%CE%9F%CE%A3")).toEqual(toPathSegments("/οδοσ"));
    expect(toPathSegments("/%E2%84%AAey")).toEqual(["key"]);
  });

  it("is also read as routers do that resolve no dots", () => {
    expect(readPath("/proxy/a/../../x")).toEqual({
      segments: ["x"],
      others: [["proxy", "a", "..", "..", "x"], ["x"]],
    });
    expect(readPath("/a/%2e").others).toContainEqual(["a", "."]);
    expect(readPath("/a.b/..c/c..").others).toEqual([]);
  });

  it.each([
    "/api//../login",
    "/api/;/../login",
    "/api/..;x/../login",
    "/api/x/%2E./login",
    "//host/api/login",
    "\\\\host\\api\\login",
    "//host/x/../api/login?y",
  ])("are also read as the URL standard does: %s", (target) => {
    const variants = [readPath(target).segments, ...readPath(target).others];
    expect(variants).toContainEqual(["api", "login"]);
    const { pathname } = new URL(target, "http://base");
    expect(variants).toContainEqual(toPathSegments(pathname));
  });

  it("has one form: reading it again changes nothing", () => {
    const part = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("..", ".", "%2e", "A", ";"),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const segments = toPathSegments(`/${parts.join("/")}`);
        const again = toPathSegments(`/${segments.map(encodeLeniently).join("/")}`);
        expect(again).toEqual(segments);
      }),
      { numRuns: 2_000 },
    );
  });

  it("costs time in proportion to its length, however it is made", () => {
    const hostile = [
      "/a",
      "/..",
      "/%2e%2e",
      "%ff",
      "%",
      ";",
      "/é",
      "/e\u0301",
      "%C3%A9",
      "%2F",
      "/%2F..%5C;x",
      "\\",
      "//",
      "/a;b/\\../é#",
    ];
    for (const piece of hostile) {
      const target = `/${piece.repeat(65_536 / piece.length)}`;
      // Processor time: what other programs take does not count.
      const start = process.cpuUsage();
      readPath(target);
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(1_000);
    }
  });
});

function encodeLeniently(segment: string): string {
  return segment.replace(/[%/\\;?#]/g, encodeURIComponent);
}
