import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Listener, parseConfig, type Service, startService } from "sluice-server";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "./run.js";

const root = join(import.meta.dirname, "..");
const readText = (path: string) => readFileSync(join(root, path), "utf8");

// Inside the workspace, so that the examples find "sluice" by its name.
mkdirSync(join(root, ".build"), { recursive: true });
const work = mkdtempSync(join(root, ".build/readme-"));
let redis: RedisProcess;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  rmSync(work, { recursive: true, force: true });
  await redis.stop();
});

describe.each(["README.md", "packages/sluice/README.md"])("%s", (page) => {
  const blocks = blocksOf(readText(page), "ts");

  it("has an example", () => {
    expect(blocks).not.toEqual([]);
  });

  it.each(blocks.map((code, index) => ({ code, number: index + 1 })))(
    "has an example $number that compiles, runs and prints",
    ({ code }) => {
      const folder = mkdtempSync(join(work, "example-"));
      // By our own server; and a program that leaves its connection open has to be ended.
      const runnable = code.replace("127.0.0.1:6379", `${redis.host}:${redis.port}`);
      writeFileSync(join(folder, "example.mts"), `${runnable}process.exit();\n`);
      const settings = { extends: join(root, "tsconfig.base.json"), include: ["*.mts"] };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
      run(join(root, "node_modules/.bin/tsc"), ["-p", folder], root);
      expect(run(process.execPath, [join(folder, "example.mjs")], root)).not.toBe("");
    },
  );
});

describe("the configurations in README.md", () => {
  it("runs a gateway in front of the upstream, and a decision API that counts with it", async () => {
    const upstream = createServer((request, response) => response.end(`upstream ${request.url}`));
    await once(upstream.listen(0, "127.0.0.1"), "listening");
    const { port } = upstream.address() as AddressInfo;
    const text = configOf("gateway:").replace("127.0.0.1:3000", `127.0.0.1:${port}`);
    const service = await startService(parseConfig(text, { env: quiet }));
    try {
      const urlOf = (name: string) => urlOn(service, name);
      const page = await fetch(`${urlOf("gateway")}/page`);
      expect([page.status, await page.text()]).toEqual([200, "upstream /page"]);
      const [, body = ""] = /\/v1\/check .*\\\n +-d '(.*)'/.exec(readText("README.md")) ?? [];
      const check = async () => {
        const headers = { "Content-Type": "application/json" };
        const url = `${urlOf("decision")}/v1/check`;
        return (await fetch(url, { method: "POST", headers, body })).json();
      };
      for (let left = 4; left >= 0; left--) {
        expect(await check()).toMatchObject({ allowed: true, rule: "login", remaining: left });
      }
      expect(await check()).toMatchObject({ allowed: false, rule: "login" });
    } finally {
      await service.close();
      upstream.close();
    }
  });

  it("answer Envoy's questions by the sample of limits", async () => {
    const folder = mkdtempSync(join(work, "envoy-"));
    writeFileSync(join(folder, "ratelimit.yaml"), readText("examples/service/ratelimit.yaml"));
    const file = join(folder, "sluice.yaml");
    const service = await startService(parseConfig(configOf("envoy:"), { file, env: quiet }));
    try {
      const entries = [{ key: "remote_address", value: "198.51.100.66" }];
      const refused = JSON.stringify({ domain: "shop", descriptors: [{ entries }] });
      const [, shown = ""] = /:8083\/json -d '(.*)'$/m.exec(readText("README.md")) ?? [];
      const [listener] = service.listeners.filter(({ name }) => name === "envoy");
      const { httpUrl } = listener as Listener & { readonly httpUrl: string };
      const ask = (body: string) => fetch(`${httpUrl}/json`, { method: "POST", body });
      expect((await ask(refused)).status).toBe(429);
      const reply = await ask(shown);
      expect(reply.status).toBe(200);
      const limit = { requestsPerUnit: 20, unit: "HOUR" };
      const status = { currentLimit: limit, limitRemaining: 19 };
      expect(await reply.json()).toMatchObject({ overallCode: "OK", statuses: [status] });
    } finally {
      await service.close();
    }
  });

  it("run a control plane, whose commands make an API key that gets the limit of its plan", async () => {
    const folder = mkdtempSync(join(work, "control-"));
    const file = join(folder, "sluice.yaml");
    const text = `${configOf("gateway:")}${configOf("control:")}`;
    let token = "";
    const service = await startService(parseConfig(text, { file, env: quiet }), {
      onFirstToken: (first) => {
        token = first;
      },
    });
    try {
      const env = { SLUICE_ADMIN: urlOn(service, "admin"), SLUICE_ADMIN_TOKEN: token };
      const block = blocksOf(readText("README.md"), "sh").find((each) =>
        /^sluice plans/.test(each),
      );
      const lines = block?.trim().split("\n") ?? [];
      const printed: string[] = [];
      for (const line of lines) printed.push(await sluice(line.split(" ").slice(1), env));
      expect(printed.at(-1)).toMatch(/^slk_/);
      expect(lines).toHaveLength(3);
      const secret = /^slk_\w+/.exec(printed.at(-1) ?? "")?.[0] ?? "";
      const [, path, header = ""] =
        /-X POST http:\/\/127\.0\.0\.1:8080(\S+) -H '(.*): slk_…'/.exec(readText("README.md")) ??
        [];
      const headers = { [header]: secret };
      const reply = await fetch(urlOn(service, "gateway") + path, { method: "POST", headers });
      expect(reply.headers.get("ratelimit")).toContain('"login";r=49');
    } finally {
      await service.close();
    }
  });
});

const quiet = { SLUICE_TELEMETRY_LOG_LEVEL: "silent", SLUICE_ADMIN_LISTEN: "127.0.0.1:0" };

/** The configuration in README.md with this section, on free ports. */
function configOf(section: string): string {
  const yaml = blocksOf(readText("README.md"), "yaml").find((block) => block.includes(section));
  return (yaml ?? "").replace(/(listen|http): 127\.0\.0\.1:\d+/g, "$1: 127.0.0.1:0");
}

function urlOn(service: Service, name: string): string {
  return service.listeners.find((listener) => listener.name === name)?.url ?? "";
}

/** Runs the command, asynchronously: the service that it asks runs in this process. */
async function sluice(args: readonly string[], env: Readonly<Record<string, string>>) {
  const bin = join(root, "packages/server/bin/sluice.js");
  const options = { cwd: work, env: { ...process.env, ...env } };
  return (await promisify(execFile)(process.execPath, [bin, ...args], options)).stdout;
}

describe(".ci/run", () => {
  it("runs exactly the README's test command", () => {
    const commands = blocksOf(readText("README.md"), "sh").map((block) => block.trim());
    const [shebang, strict, goHome, ...steps] = readText(".ci/run").trimEnd().split("\n");
    expect([shebang, strict]).toEqual(["#!/usr/bin/env bash", "set -euo pipefail"]);
    expect(goHome).toMatch(/^cd /);
    expect(steps).toEqual(commands.filter((command) => command.endsWith("npm test")));
    expect(steps).toHaveLength(1);
  });
});

function blocksOf(markdown: string, language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm");
  return [...markdown.matchAll(fence)].map((match) => match[1] as string);
}
