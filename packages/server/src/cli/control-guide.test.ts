// The followers of the guide of the control plane, from its configurations and commands: a control node with a database
// in a file, a token for a follower, a publish that the follower enforces, and a follower that starts while the control
// node is unavailable.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findFreePort, makeFolder } from "sluice-test-servers";
import { afterEach, expect, it, vi } from "vitest";
import { FakeTerminal, sluice } from "../../test/cli/fake-terminal.js";
import { runCommand } from "./program.js";

const repository = join(import.meta.dirname, "../../../..");
const readme = readFileSync(join(repository, "README.md"), "utf8");
const guide = readFileSync(join(repository, "docs/guides/control-plane.md"), "utf8");
const folder = makeFolder("control-guide");

/** The configuration of the README, with the lines that make it a control node. */
const [gatewayYaml] = blocksOf(readme, "yaml").filter((text) => /^gateway: /m.test(text));
const [controlYaml, followerYaml] = blocksOf(guide, "yaml");
const TOKEN_COMMAND = /^sluice (tokens create .* --role node)$/m.exec(guide)?.[1] ?? "";

const ANYWHERE = {
  SLUICE_GATEWAY_LISTEN: "127.0.0.1:0",
  SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
};

interface Running {
  readonly gateway: string;
  readonly admin: string;
  /** The first access token, if it was printed. */
  readonly token: string;
  stop(): Promise<number>;
}

const running: Running[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
});

it("a follower of the guide enforces what is published, also while the control node is unavailable", async () => {
  const control = await serve("control", gatewayYaml + controlYaml, {
    SLUICE_DECISION_LISTEN: "127.0.0.1:0",
  });
  const env = { SLUICE_ADMIN: control.admin, SLUICE_ADMIN_TOKEN: control.token };
  const created = await sluice(TOKEN_COMMAND.split(" "), { env });
  const [nodeToken = ""] = /slt_\w+/.exec(created.out) ?? [];
  const followerConfig = followerYaml.replace("https://control.example.com:9090", control.admin);
  const follower = await serve("follower", followerConfig, { CONTROL_TOKEN: nodeToken });
  expect(await logins(follower, 6)).toEqual([502, 502, 502, 502, 502, 429]);

  const rules = join(folder, "rules.yaml");
  const more = "version: 1\nrules:\n  - { id: login, match: { path: /login }, limit: 8/minute }\n";
  writeFileSync(rules, more);
  const pushed = await sluice(["rules", "push", rules, "--publish", "--note", "more"], { env });
  expect(pushed).toMatchObject({ code: 0 });
  await vi.waitFor(async () => expect(await logins(follower, 1)).toEqual([502]), 20_000);
  const nodes = (await sluice(["nodes", "list"], { env })).out;
  expect(nodes).toMatch(/follower .*\b0\b/);

  await control.stop();
  expect(await logins(follower, 3)).toEqual([502, 502, 429]);
  await follower.stop();
  const again = await serve("follower", followerConfig, { CONTROL_TOKEN: nodeToken });
  expect((await logins(again, 9)).filter((status) => status === 502)).toHaveLength(8);
});

/** `sluice serve` in a folder of its own. */
async function serve(
  name: string,
  yaml: string,
  env: Readonly<Record<string, string>>,
): Promise<Running> {
  mkdirSync(join(folder, name), { recursive: true });
  const file = join(folder, name, "sluice.yaml");
  // The port of the guide may be in use here, and no upstream may run.
  writeFileSync(file, yaml.replace("127.0.0.1:3000", `127.0.0.1:${await findFreePort()}`));
  const terminal = new FakeTerminal({ env: { ...ANYWHERE, ...env }, isTty: true });
  const code = runCommand(["serve", "--config", file], terminal);
  await Promise.race([terminal.until(({ out }) => out.includes("Ctrl-C")), code]);
  const urlOf = (listener: string) =>
    new RegExp(`^ +${listener} +(http\\S+)`, "m").exec(terminal.out)?.[1] ?? terminal.err;
  const stop = async () => {
    terminal.end();
    return code;
  };
  const [token = ""] = /slt_\w+/.exec(terminal.out) ?? [];
  const started = { gateway: urlOf("gateway"), admin: urlOf("admin"), token, stop };
  running.push(started);
  return started;
}

/** The statuses of this many logins, one after the other. No upstream runs: 502 is a request that passed. */
async function logins({ gateway }: Running, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) {
    const response = await fetch(`${gateway}/login`, { method: "POST" });
    await response.text();
    statuses.push(response.status);
  }
  return statuses;
}

function blocksOf(page: string, language: string): string[] {
  const blocks = page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"));
  return [...blocks].map(([, text]) => text);
}
