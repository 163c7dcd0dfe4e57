// The guide from rate limits to billing: its configuration starts, and its commands and requests work in their order.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseRules } from "sluice/rules";
import { makeFolder } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sluice } from "../../test/cli/fake-terminal.js";
import { parseConfig } from "../config/load.js";
import { type Service, startService } from "../service/service.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";

const guide = readFileSync(new URL("../../../../docs/guides/billing.md", import.meta.url), "utf8");
const blocksOf = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, text = ""]) => text,
  );
const [config = "", tokens = ""] = blocksOf("yaml");
const commands = blocksOf("sh").flatMap((block) => block.trimEnd().split("\n"));

const folder = makeFolder("billing");
/** What the shell of the guide's reader has: the first access token, as the guide says to export it, and later the API key. */
const variables = new Map<string, string>();
const backend = createServer((_, response) => response.writeHead(201).end());
let service: Service;
const urlOf = (name: string) => service.listeners.find((each) => each.name === name)?.url ?? "";

beforeAll(async () => {
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
  const { port } = backend.address() as AddressInfo;
  const listening = `admin: { listen: "127.0.0.1:0" }\n`;
  const text = config
    .replace("127.0.0.1:3000", `127.0.0.1:${port}`)
    .replace("gateway: { ", `gateway: { listen: "127.0.0.1:0", `);
  const parsed = parseConfig(text + listening, { file: join(folder, "sluice.yaml") });
  service = await startService(parsed, {
    telemetry: silentTelemetry(),
    onFirstToken: (token) => void variables.set("SLUICE_ADMIN_TOKEN", token),
  });
});
afterAll(async () => {
  await service.close();
  backend.close();
});

const filled = (text: string) => text.replace(/\$(\w+)/g, (_, name) => variables.get(name) ?? "");
const wordsOf = (text: string) =>
  [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => filled(quoted ?? bare ?? ""));

async function run(line: string): Promise<{ ok: boolean; text: string }> {
  const [program, ...args] = wordsOf(line);
  if (program === "curl") return ask(args);
  const inFolder = args.map((word, n) => (args[n - 1] === "--output" ? join(folder, word) : word));
  const SLUICE_ADMIN_TOKEN = filled("$SLUICE_ADMIN_TOKEN");
  const env = { SLUICE_ADMIN: urlOf("admin"), SLUICE_ADMIN_TOKEN };
  const { code, out, err } = await sluice(inFolder, { env });
  return { ok: code === 0, text: out + err };
}

async function ask(args: readonly string[]): Promise<{ ok: boolean; text: string }> {
  const method = args[args.indexOf("-X") + 1];
  const headers = args
    .filter((_, n) => args[n - 1] === "-H")
    .map((header) => header.split(": ") as [string, string]);
  const target = args.find((word) => word.startsWith("localhost:")) ?? "";
  const base = target.startsWith("localhost:8080") ? urlOf("gateway") : urlOf("admin");
  const response = await fetch(base + target.replace(/^localhost:\d+/, ""), {
    method: args.includes("-X") ? method : "GET",
    headers,
  });
  return { ok: response.ok, text: await response.text() };
}

describe("the guide from rate limits to billing", () => {
  it("shows commands and requests that work, in their order", async () => {
    expect(commands.length).toBeGreaterThan(12);
    const seen: string[] = [];
    for (const line of commands) {
      const [, name, command = line, field] =
        /^(\w+)=\$\((.*) \| jq -r \.(\w+)\)$/.exec(line) ?? [];
      const { ok, text } = await run(command);
      expect([line, ok, text]).toEqual([line, true, text]);
      if (name !== undefined) variables.set(name, JSON.parse(text)[field ?? ""]);
      seen.push(text);
    }
    const all = seen.join("\n");
    // Three requests, of which one is a retry.
    expect(commands.filter((line) => line.includes("-X POST"))).toHaveLength(3);
    expect(all).toMatch(/exports +1000 +2 +0 +998/);
    expect(all).toContain("+500 units, 1498 left");
    expect(all).toContain("-20 units, 1478 left");
    expect(all).toContain(`"usage":[{"meter":"exports","part":0,"units":2,`);
    expect(all).toContain("the ledger is intact: 5 entries of 1 account");
    expect(readFileSync(join(folder, "may.csv"), "utf8")).toMatch(/^time,meter,/);
  }, 60_000);

  it("shows a customer and an operator the same days", async () => {
    const asked = [
      'curl -H "x-api-key: $key" localhost:8080/v1/usage',
      'curl -H "authorization: Bearer $SLUICE_ADMIN_TOKEN" localhost:9090/v1/usage?tenant=acme',
    ];
    const [own, admin] = await Promise.all(
      asked.map(async (line) => JSON.parse((await run(line)).text)),
    );
    expect([own.timeZone, admin.timeZone]).toEqual(["Europe/Paris", "Europe/Paris"]);
    expect(own.usage).toEqual(admin.items);
  });

  it("lets a customer ask for its usage, and not without end", async () => {
    const headers = { "x-api-key": variables.get("key") ?? "" };
    const ask = async () => (await fetch(`${urlOf("gateway")}/v1/usage`, { headers })).status;
    const unknown = await fetch(`${urlOf("gateway")}/v1/usage`);
    expect(unknown.status).toBe(403);
    const seen = new Set<number>();
    for (let n = 0; n < 60; n++) seen.add(await ask());
    expect([...seen].sort()).toEqual([200, 429]);
  });

  it("shows rules that can be used", () => {
    expect(parseRules(tokens).rules.map(({ id }) => id)).toEqual(["tokens"]);
  });
});
