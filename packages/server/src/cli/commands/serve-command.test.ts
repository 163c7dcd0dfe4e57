import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { sluice } from "../../../test/cli/fake-terminal.js";
import { startOldPostgres } from "../../../test/control/old-postgres.js";

const folder = makeFolder("serve");

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const RULES = `version: 1
rules:
  - id: exports
    limit: { concurrency: { limit: 2, permitMs: 15m } }
`;
const GATEWAY = `gateway:
  listen: 127.0.0.1:0
admin:
  listen: 127.0.0.1:0
upstreams:
  app: { backends: ["http://127.0.0.1:3000"] }
routes:
  - { path: /*, upstream: app }
rules: { file: rules.yaml }
`;

describe("sluice serve --check", () => {
  it("says of a good file what it opens, and exits with 0", async () => {
    write("rules.yaml", RULES);
    const file = write("good.yaml", GATEWAY);
    const { code, out, err } = await sluice(["serve", "--check", "--config", file]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(`${file}: ok (gateway, 1 upstream, admin, 1 rule)\n`);
  });

  it("passes the configuration of the guide", async () => {
    const guide = join(import.meta.dirname, "../../../../../docs/guides/service.md");
    const text = /^```yaml\n(# sluice\.yaml\n[\s\S]*?)^```/m.exec(readFileSync(guide, "utf8"))?.[1];
    const file = write("guide.yaml", text ?? "");
    expect(await sluice(["serve", "--check", "-c", file])).toMatchObject({ code: 0, err: "" });
  });

  it("reads the file that SLUICE_CONFIG names, and values of the environment", async () => {
    write("rules.yaml", RULES);
    const SLUICE_CONFIG = write("good.yaml", GATEWAY);
    const good = await sluice(["serve", "--check"], { env: { SLUICE_CONFIG } });
    expect(good.code).toBe(0);
    const env = { SLUICE_CONFIG, SLUICE_GATEWAY_LISTEN: "nonsense" };
    const bad = await sluice(["serve", "--check"], { env });
    expect(bad.code).toBe(1);
    expect(bad.err).toContain("SLUICE_GATEWAY_LISTEN");
  });

  it("reports every problem of the configuration with its line, and exits with 1", async () => {
    const bad = GATEWAY.replace("gateway:", "gatewai:").replace("/*,", "7,");
    const file = write("bad.yaml", bad);
    const { code, out, err } = await sluice(["serve", "--check", "-c", file]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    const lines = err.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThanOrEqual(3);
    expect(err).toMatch(/^.*bad\.yaml:1: .*gatewai/m);
    expect(err).toMatch(/^.*bad\.yaml:8: routes\[0\]\.path .*7/m);
    expect(lines.at(-1)).toMatch(/^sluice: .*bad\.yaml can't be used: \d problems?$/);
  });

  it("reports the problems of a rule file that the configuration names, with their lines", async () => {
    write("rules.yaml", RULES.replace("limit: 2", "limit: two"));
    const file = write("good.yaml", GATEWAY);
    const { code, err } = await sluice(["serve", "--check", "-c", file]);
    expect(code).toBe(1);
    expect(err).toMatch(/^.*rules\.yaml:4:.* rule "exports": .*"two"/m);
  });

  it("names the rule that a listener which sees no responses can't keep", async () => {
    write("rules.yaml", RULES);
    const file = write("blind.yaml", `${GATEWAY}decision: { listen: "127.0.0.1:0" }\n`);
    const { code, err } = await sluice(["serve", "--check", "-c", file]);
    expect(code).toBe(1);
    expect(err).toContain('"exports"');
  });

  it("reads the files of Envoy, and says how many domains and limits they have", async () => {
    const from = join(import.meta.dirname, "../../../../../examples/service/ratelimit.yaml");
    write("ratelimit.yaml", readFileSync(from, "utf8"));
    const file = write("envoy.yaml", 'envoy: { listen: "127.0.0.1:0", files: [ratelimit.yaml] }\n');
    const { code, out, err } = await sluice(["serve", "--check", "-c", file]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(`${file}: ok (Envoy, 1 domain, 8 Envoy limits, admin, 0 rules)\n`);
  });

  it("reports every problem of Envoy's files with its line, and exits with 1", async () => {
    const bad = "domain: shop\ndescriptors:\n  - { key: a, rate_limit: { unit: fortnight } }\n";
    write("bad-1.yaml", bad);
    write("bad-2.yaml", bad.replace("shop", "other"));
    const files = "files: [bad-1.yaml, bad-2.yaml]";
    const file = write("envoy.yaml", `envoy: { listen: "127.0.0.1:0", ${files} }\n`);
    const { code, out, err } = await sluice(["serve", "--check", "-c", file]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    const lines = err.trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^\/.*bad-1\.yaml:3: .*fortnight/);
    expect(lines[1]).toMatch(/^\/.*bad-2\.yaml:3: .*fortnight/);
    expect(lines[2]).toMatch(/can't be used: 2 problems$/);
  });

  it("says what a control node would do, and makes no database", async () => {
    const readme = readFileSync(join(import.meta.dirname, "../../../../../README.md"), "utf8");
    const blocks = [...readme.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text]) => text);
    const [gateway] = blocks.filter((text) => /^gateway: /m.test(text));
    const [control] = blocks.filter((text) => /^control: /m.test(text));
    const file = write("control.yaml", gateway + control);
    const database = join(folder, "sluice.db");
    const { code, out, err } = await sluice(["serve", "--check", "-c", file]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`control node with ${database}, which is made at the first start)`);
    expect(existsSync(database)).toBe(false);
  });

  it.each([
    [
      'database: "postgres://sluice:secret@127.0.0.1:1/sluice"',
      "control node with PostgreSQL",
      /^warning: control\.database: .*ECONNREFUSED.*; the node can't start until it does/,
    ],
    [
      'follow: "http://127.0.0.1:1", token: "slt_a-token-of-a-node"',
      "follower of http://127.0.0.1:1",
      /^warning: control\.follow: http:\/\/127\.0\.0\.1:1 does not answer: .*ECONNREFUSED/,
    ],
    ['database: "file:/missing/sluice.db"', "control node with", /\/missing/],
  ])("warns of a control plane that does not answer: %s", async (control, role, warning) => {
    const file = write("away.yaml", `${GATEWAY.replace(/rules: .*/, "")}control: { ${control} }\n`);
    const { code, out, err } = await sluice(["serve", "--check", "-c", file]);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(role) });
    expect(err).toMatch(warning);
    expect(err + out).not.toContain("secret");
  });

  it("warns of a PostgreSQL that is too old, with which the service does not start", async () => {
    const postgres = await startOldPostgres({ name: "13.18", release: "130018" });
    const control = `control: { database: "${postgres.url}" }\n`;
    const file = write("old.yaml", `${GATEWAY.replace(/rules: .*/, "")}${control}`);
    const advice = "it is PostgreSQL 13.18, and Sluice needs PostgreSQL 14 or newer; upgrade";
    const checked = await sluice(["serve", "--check", "-c", file]);
    expect(checked).toMatchObject({ code: 0, err: expect.stringContaining(advice) });
    expect(checked.err).toMatch(/^warning: control\.database: .*use another one\n$/);
    const served = await sluice(["serve", "-c", file]);
    expect(served).toMatchObject({ code: 1, err: expect.stringContaining(advice) });
    await postgres.close();
  });

  it("says in a line that there is no such file, and exits with 1", async () => {
    const { code, err } = await sluice(["serve", "--check", "-c", join(folder, "none.yaml")]);
    expect(code).toBe(1);
    expect(err).toMatch(/none\.yaml/);
    expect(err).not.toMatch(/^\s+at /m);
  });
});
