// The guide of the control plane: what it shows works, in its order, and again as it says.

import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import {
  type Ask,
  type ControlAdmin,
  startControlAdmin,
} from "../../test/control/admin-fixture.js";
import { testDatabases } from "../../test/control/databases.js";
import { parseConfig } from "../config/load.js";

const guide = readFileSync(
  new URL("../../../../docs/guides/control-plane.md", import.meta.url),
  "utf8",
);
const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

// name=$(ask -X PUT "localhost:9090/path" -H 'name: value' -d 'body' | jq -r .field)
const SHOWN = new RegExp(
  [
    /^(?:(?<name>\w+)=\$\()?ask(?: -X (?<method>\w+))? (?<quote>["']?)localhost:9090(?<path>[^\s"']+)\k<quote>/,
    /(?: -d '(?<body>.*?)')?(?: \| jq -r \.(?<field>\w+)\))?$/,
  ]
    .map(({ source }) => source)
    .join(""),
  "gm",
);

describe.each(all)("the guide of the control plane, in $name", (databases) => {
  it("shows requests that are answered, and again with If-Match", async () => {
    const admin = await startControlAdmin(await databases.ready());
    const shown = [...guide.matchAll(SHOWN)].map(({ groups = {} }) => groups);
    expect(shown).toHaveLength(16);
    expect(guide.match(/\bask .*localhost:9090/g)).toHaveLength(shown.length);
    expect(await askAll(admin, shown, {})).toBe(5);
    const [, header = "", value = ""] = /add -H '(.*): (.*)'; .* 428/.exec(guide) ?? [];
    expect(await admin.ask("PUT /v1/plans/team", { body: {} })).toMatchObject({ status: 428 });
    expect(await askAll(admin, shown, { [header]: value })).toBe(5);
    await admin.close();
  });
});

describe("the configurations of the guide", () => {
  const [control = "", follower = ""] = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(
    ([, text]) => text,
  );

  it("make a control node that resolves API keys", () => {
    const config = parseConfig(`version: 1\n${control}`, { file: "/sluice.yaml" });
    expect(config).toMatchObject({ control: { kind: "database" } });
    expect(control).toContain("identity: { apiKeys: control }");
  });

  it("make a follower", () => {
    const env = { CONTROL_TOKEN: "slt_a-token-of-a-node" };
    const { control } = parseConfig(follower, { file: "/sluice.yaml", env });
    const url = "https://control.example.com:9090";
    expect(control).toMatchObject({ kind: "follow", url, token: env.CONTROL_TOKEN });
  });
});

type Groups = Readonly<Record<string, string | undefined>>;

/**
 * Sends the requests, each with what earlier answers said; returns how many answers were kept.
 *
 * @param replacing - Headers of a PUT of a plan or tenant.
 */
async function askAll(
  admin: ControlAdmin,
  shown: readonly Groups[],
  replacing: Readonly<Record<string, string>>,
): Promise<number> {
  const kept = new Map<string, string>();
  for (const { name, method, path = "", body, field = "" } of shown) {
    const filled = path.replace(/\$(\w+)/g, (_, known: string) => kept.get(known) ?? "unknown");
    const request = `${method ?? (body === undefined ? "GET" : "POST")} ${filled}`;
    const headers = /^PUT .*(plans|tenants)/.test(request) ? replacing : {};
    const how: Ask = body === undefined ? { headers } : { headers, body: JSON.parse(body) };
    const answer = await admin.ask(request, how);
    expect([request, Math.floor(answer.status / 100)]).toEqual([request, 2]);
    if (name !== undefined) kept.set(name, String(answer.body[field] ?? "missing"));
  }
  return [...kept.values()].filter((each) => each !== "missing").length;
}
