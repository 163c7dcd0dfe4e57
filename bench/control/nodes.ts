// Nodes of a control plane for benchmarks: a control node in this process, followers in processes of their own.

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Service, startService, toConfig } from "sluice-server";

/** The token of the configuration. */
const TOKEN = "a-token-of-a-benchmark";

/** A folder for databases and snapshots. */
export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "sluice-control-"));
}

/** A rule set of this many rules; `name` is the id of the first. */
export function rulesText(name: string, count: number): string {
  const rules = Array.from({ length: count }, (_, n) => ({
    id: n === 0 ? name : `rule-${n}`,
    match: { path: `/v1/resource-${n}/*` },
    key: "ip",
    limit: "1000/minute",
  }));
  return JSON.stringify({ version: 1, rules });
}

/** A snapshot as nodes keep it: a header with a checksum, then one entity a line. */
export function snapshotText(entities: readonly object[]): string {
  const sequence = entities.length;
  const lines = entities.map((entity) => `${JSON.stringify(entity)}\n`).join("");
  const sha256 = createHash("sha256").update(`${sequence} \n${lines}`).digest("hex");
  const header = { format: 1, sequence, hash: "", entities: entities.length, sha256 };
  return `${JSON.stringify(header)}\n${lines}`;
}

/** Starts a control node over an SQLite file. */
export function startControl(folder: string, rules: string): Promise<Service> {
  const config = toConfig(
    {
      decision: { listen: "127.0.0.1:0" },
      admin: { listen: "127.0.0.1:0", token: TOKEN },
      control: { database: "file:sluice.db" },
      telemetry: { logLevel: "silent" },
      rules: JSON.parse(rules),
    },
    { file: join(folder, "sluice.yaml") },
  );
  return startService(config);
}

/** Publishes rules, and resolves when the control node enforces them. */
export async function publish({ control }: Service, text: string): Promise<void> {
  const ruleSets = control?.plane?.ruleSets;
  if (ruleSets === undefined) throw new Error("it is not a control node");
  const by = () => ({ id: crypto.randomUUID(), actor: "bench", origin: "local", reason: "bench" });
  const { number } = await ruleSets.createDraft(by(), text);
  const expected = (await ruleSets.published())?.number ?? 0;
  await ruleSets.publish(by(), { number, note: "", expected });
}

/** Where the admin port of a service is. */
export function adminUrl({ listeners }: Service): string {
  return listeners.find(({ name }) => name === "admin")?.url ?? "";
}

const FOLLOWER = `
  import { startService, toConfig } from "sluice-server";
  const [url, snapshot, node] = process.argv.slice(1);
  const service = await startService(toConfig({
    decision: { listen: "127.0.0.1:0" },
    admin: { listen: "127.0.0.1:0" },
    control: { follow: url, token: ${JSON.stringify(TOKEN)}, snapshot, node },
    telemetry: { logLevel: "silent" },
  }));
  const report = () => console.log(service.core.policy.rules.rules[0]?.id ?? "");
  service.control.onChanged(report);
  report();
`;

/** A follower: a service in a process of its own. It says the id of its first rule whenever rules come into force. */
export function startFollower(
  options: { readonly url: string; readonly snapshot: string; readonly node: string },
  onRule: (id: string) => void,
): ChildProcess {
  const { url, snapshot, node } = options;
  const args = ["--input-type=module", "--eval", FOLLOWER, url, snapshot, node];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  createInterface(child.stdout).on("line", onRule);
  return child;
}
