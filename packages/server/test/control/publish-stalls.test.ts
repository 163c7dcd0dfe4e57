// Thousands of rules are published while every process decides: a control node with two workers, and a follower. No
// turn of an event loop may take long, since all requests of the process wait for it.

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "sluice-test-servers";
import { afterAll, expect, it } from "vitest";
import { rulesOf, useServe } from "../lifecycle/serve-fixture.js";
import { testDatabases } from "./databases.js";

const PROBE = fileURLToPath(new URL("stall-probe.mjs", import.meta.url));
const stallsFolder = makeFolder("stalls");
const before = { NODE_OPTIONS: process.env.NODE_OPTIONS, STALL_FOLDER: process.env.STALL_FOLDER };
process.env.NODE_OPTIONS = `--import ${PROBE}`;
afterAll(() => {
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

const { serve } = useServe();
const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

/**
 * How long a turn may run, in milliseconds of the processor. It is 30 on a quiet machine; where rules are read, compared
 * or made ready in one go it is 100 to 1,000.
 */
const RAN_MS_MAX = 150;
const RULES = 5_000;

const rulesUnder = (limit: string) => [
  ...Array.from({ length: RULES }, (_, n) => ({
    id: `rule-${n}`,
    match: { path: `/v1/resource-${n}/*` },
    key: "ip",
    limit,
  })),
  { id: "strict", match: { path: "/strict" }, key: "ip", limit: "5/minute", consistency: "strict" },
];

/** One rule a line: as JSON, or with a comment that makes it YAML, which every process takes far longer to read. */
function toText(limit: string, format: "YAML" | "JSON"): string {
  const lines = rulesUnder(limit).map((rule) => JSON.stringify(rule));
  const comment = format === "YAML" ? "# Long\n" : "";
  return `${comment}{"version":1,"rules":[\n${lines.join(",\n")}\n]}\n`;
}

interface Stall {
  readonly atMs: number;
  readonly ranMs: number;
}

/** The longest turn of each process since a time. */
function longestSince(sinceMs: number, stallFolder: string): number[] {
  return readdirSync(stallFolder).map((name) => {
    const lines = readFileSync(join(stallFolder, name), "utf8").trim().split("\n");
    const stalls = lines.map((line) => JSON.parse(line) as Stall);
    return Math.max(0, ...stalls.filter(({ atMs }) => atMs > sinceMs).map(({ ranMs }) => ranMs));
  });
}

it.each(all)(
  "no process stops deciding while long rules are published, and published again with other numbers: $name",
  async (databases) => {
    const stallFolder = join(stallsFolder, databases.name);
    mkdirSync(stallFolder);
    process.env.STALL_FOLDER = stallFolder;
    const database = await databases.create();
    const served = serve(2, rulesOf(1_000_000), { control: { database } });
    const [gateway, admin] = [await served.url("gateway"), await served.url("admin")];
    const token = served.text.at(-1)?.trim() ?? "";
    const send = async (path: string, body: object) => {
      const response = await fetch(`${admin}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      expect([path, Math.floor(response.status / 100), answer.detail]).toEqual([
        path,
        2,
        undefined,
      ]);
      return answer;
    };
    const { secret } = await send("/v1/access-tokens", { name: "follower", role: "node" });
    const follower = serve(1, rulesOf(1), { control: { follow: admin, token: secret } });
    const urls = [gateway, await follower.url("gateway")];
    let isOver = false;
    const statuses = new Set<number>();
    const load = urls.map(async (url) => {
      while (!isOver) {
        const response = await fetch(`${url}/v1/resource-1/a`);
        await response.text();
        statuses.add(response.status);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    // Whatever a process did when it started.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const sinceMs = Date.now();
    // Neither how rules are read nor how other numbers take effect depends on the database.
    const changes = [
      ["1000000/minute", "YAML"],
      ["2000000/minute", "JSON"],
    ] as const;
    for (const [limit, format] of databases.name === "SQLite" ? changes : changes.slice(1)) {
      const { number } = await send("/v1/rule-sets", { text: toText(limit, format) });
      await send(`/v1/rule-sets/${number}/publish`, { note: "long" });
      for (const url of urls) {
        await expect
          .poll(
            async () => (await fetch(`${url}/v1/resource-0/a`)).headers.get("ratelimit-policy"),
            {
              timeout: 60_000,
            },
          )
          .toContain(`q=${limit.split("/")[0]}`);
      }
    }
    isOver = true;
    await Promise.all(load);
    expect([...statuses]).toEqual([200]);
    const longest = longestSince(sinceMs, stallFolder);
    // The first process, its two workers and the follower all had long turns when they started, so each has a file.
    expect(longest.length).toBeGreaterThanOrEqual(4);
    expect(longest.filter((ranMs) => ranMs > RAN_MS_MAX)).toEqual([]);
  },
  240_000,
);
