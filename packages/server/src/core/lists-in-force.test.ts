import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { ListsInForce } from "./lists-in-force.js";

const open: ListsInForce[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.close();
});

function setUp(deny: string, allow = "") {
  const folder = makeFolder("lists");
  mkdirSync(folder, { recursive: true });
  const files = { deny: join(folder, "deny.txt"), allow: join(folder, "allow.txt") };
  const write = (list: "deny" | "allow", text: string) => writeFileSync(files[list], text);
  write("deny", deny);
  write("allow", allow);
  const reports: unknown[] = [];
  const telemetry = { reloaded: (what: string, error?: unknown) => reports.push(error ?? what) };
  const config = { deny: [files.deny], allow: [files.allow] };
  const inForce = new ListsInForce(config, { telemetry, pollMs: 5 });
  open.push(inForce);
  return { inForce, lists: inForce.lists, write, reports, files };
}

describe("lists of files", () => {
  it("are in force at the start, and follow their files", async () => {
    const { lists, write, reports } = setUp("203.0.113.7\n");
    expect(lists.find("203.0.113.7")).toBe("deny");
    write("allow", "198.51.100.0/24\n");
    await expect.poll(() => lists.find("198.51.100.9"), { timeout: 20_000 }).toBe("allow");
    expect(lists.find("203.0.113.7")).toBe("deny");
    expect(reports).toEqual(["lists"]);
  });

  it("stay as they are when a file has a bad line, which is reported with its number", async () => {
    const { lists, write, reports, files, inForce } = setUp("203.0.113.7\n");
    write("deny", "203.0.113.8\nnonsense here\n");
    await expect.poll(() => reports.length, { timeout: 20_000 }).toBe(1);
    expect(String(reports[0])).toContain(`${files.deny}:2: needs ranges`);
    expect([lists.find("203.0.113.7"), lists.find("203.0.113.8")]).toEqual(["deny", undefined]);
    expect(inForce.isBad).toBe(true);
    write("deny", "203.0.113.8\n");
    await expect.poll(() => lists.find("203.0.113.8"), { timeout: 20_000 }).toBe("deny");
    expect(inForce.isBad).toBe(false);
  });

  it("stay as they are when a file is gone", async () => {
    const { lists, reports, files } = setUp("203.0.113.7\n");
    rmSync(files.deny);
    await expect.poll(() => reports.length, { timeout: 20_000 }).toBe(1);
    expect(lists.find("203.0.113.7")).toBe("deny");
  });

  it("with a bad line are an error at the start", () => {
    expect(() => setUp("nonsense\n")).toThrow("deny.txt:1: needs ranges");
  });

  it("stay as they are when a file has become too long to be read, whose length is reported", async () => {
    const { lists, reports, files } = setUp("203.0.113.7\n");
    truncateSync(files.deny, 64_000_001);
    await expect.poll(() => reports.length, { timeout: 20_000 }).toBe(1);
    expect(String(reports[0])).toContain("deny.txt: has 65 MB; at most 64 MB");
    expect(lists.find("203.0.113.7")).toBe("deny");
  });

  it("are not read from what is not a file", () => {
    const telemetry = { reloaded: () => {} };
    expect(() => new ListsInForce({ deny: ["/dev/zero"], allow: [] }, { telemetry })).toThrow(
      "/dev/zero: is not a file",
    );
  });
});
