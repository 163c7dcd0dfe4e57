// README.md and threat-model.md: the example runs, and every test that a threat names exists.

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeFolder } from "sluice-test-servers";
import { expect, it } from "vitest";
import type { Http1Server } from "../src/server/server.js";

const home = join(import.meta.dirname, "..");
const readText = (path: string) => readFileSync(join(home, path), "utf8");

it("has an example that answers requests", async () => {
  const [, code = ""] = /```js\n([\s\S]+?)```/.exec(readText("README.md")) ?? [];
  const entry = pathToFileURL(join(home, "dist/index.js")).href;
  const program = code.replace('"sluice-http1"', `"${entry}"`).replace("8080", '0, "127.0.0.1"');
  const file = join(makeFolder("http1-readme"), "example.mjs");
  writeFileSync(file, `${program}\nexport { server };\n`);
  const before = process.listeners("SIGTERM");
  const { server } = (await import(file)) as { server: Http1Server };
  await once(server.netServer, "listening");
  const { port } = server.netServer.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/hello`);
  expect(await response.text()).toBe("GET /hello\n");
  for (const drain of process.listeners("SIGTERM")) {
    if (!before.includes(drain)) process.off("SIGTERM", drain);
  }
  await server.close();
});

const rows = [
  ...readText("threat-model.md").matchAll(/^\|.*\| \[[^\]]+\]\(([^)]+)\): "(.+)" \|$/gm),
];

it("names a test for each threat", () => {
  const threats = readText("threat-model.md")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| attempt"));
  expect(rows.length).toBe(threats.length);
});

it.each(rows.map(([, file, name]) => [file, name] as const))(
  "names a test of %s: %s",
  (file, name) => {
    const text = readText(file);
    expect(text.includes(`"${name}"`) || text.includes(`\`${name}\``)).toBe(true);
  },
);
