import type { IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Dashboard } from "./dashboard.js";
import { readDashboardFiles } from "./files.js";

const files = readDashboardFiles();
const script = [...files.keys()].find((name) => /^assets\/index-.*\.js$/.test(name)) ?? "";

function get(pathname: string, encoding?: string) {
  const headers = encoding === undefined ? {} : { "accept-encoding": encoding };
  return new Dashboard().answer({ headers } as IncomingMessage, pathname);
}

describe("the files of the dashboard", () => {
  it("are sent with gzip to clients that take it, and unpacked to others", () => {
    const plain = get(`/dashboard/${script}`);
    expect(plain.headers).not.toHaveProperty("Content-Encoding");
    expect(get(`/dashboard/${script}`, "br").headers).not.toHaveProperty("Content-Encoding");
    const gzip = get(`/dashboard/${script}`, "gzip, deflate, br");
    expect(gzip.headers).toMatchObject({ "Content-Encoding": "gzip", Vary: "Accept-Encoding" });
    expect(gunzipSync(gzip.body)).toEqual(plain.body);
  });

  it("are kept for a year if a hash is in their names, and asked for again otherwise", () => {
    expect(get(`/dashboard/${script}`).headers).toMatchObject({
      "Cache-Control": "public, max-age=31536000, immutable",
    });
    expect(get("/dashboard/").headers).toMatchObject({ "Cache-Control": "no-cache" });
  });

  it("run nothing inline, nothing of another origin, and in no frame", () => {
    for (const path of ["/dashboard/", "/dashboard/rules/login", `/dashboard/${script}`]) {
      const policy = get(path).headers?.["Content-Security-Policy"] ?? "";
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
    }
    expect(String(get("/dashboard/").body)).not.toMatch(/<script(?![^>]* src=)|<style| style=/);
  });

  it("are the page for every path of the application, and 404 for files that are not there", () => {
    const page = get("/dashboard/").body;
    for (const path of ["/dashboard/rules", "/dashboard/key", "/dashboard/quotas/a%2Fb"])
      expect(get(path).body).toEqual(page);
    for (const path of ["/dashboard/assets/none.js", "/dashboard/assets/../../package.json"])
      expect(() => get(path)).toThrow(/SLUICE_NOT_FOUND|not found/i);
  });

  it("are where / leads", () => {
    for (const path of ["/", "/dashboard"])
      expect(get(path)).toMatchObject({ status: 302, headers: { Location: "/dashboard/" } });
  });
});
