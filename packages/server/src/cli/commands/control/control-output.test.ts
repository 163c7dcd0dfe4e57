// What each verb of the control plane prints: a table or a line for people, and JSON for programs, about the same things.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal, sluice } from "../../../../test/cli/fake-terminal.js";
import {
  by,
  type ControlAdmin,
  START_MS,
  startControlAdmin,
} from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";
import type { ControlPlane } from "../../../control/control-plane.js";
import { createProgram } from "../../program.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

// In braces: the name of a pair. The first of it is for the table, the second for JSON.

/** Verb, head of its first column, the field of an item that this column shows, and what is listed. */
const LISTS: readonly (readonly [line: string, head: string, field: string, listed: string])[] = [
  ["plans list", "plan", "id", "{plan}"],
  ["tenants list", "tenant", "id", "{tenant}"],
  ["keys list", "key", "id", "{key}"],
  ["overrides list", "override", "id", "{override}"],
  ["blocks list", "block", "id", "{block}"],
  ["switch", "rule", "id", "{rule}"],
  ["tokens list", "token", "id", "{token}"],
  ["nodes list", "node", "name", "{node}"],
  ["rules history", "version", "number", "{draft}"],
  ["audit list", "entry", "sequence", "{entry}"],
];

/** Verb, and the id that it prints. */
const ACTS: readonly (readonly [line: string, id: string])[] = [
  ["plans show {plan}", "{plan}"],
  ["plans set {plan} --tier silver", "{plan}"],
  ["plans remove {plan}", "{plan}"],
  ["tenants show {tenant}", "{tenant}"],
  ["tenants set {tenant} --name Shop", "{tenant}"],
  ["tenants remove {tenant}", "{tenant}"],
  ["keys revoke {key}", "{key}"],
  ["overrides remove {override}", "{override}"],
  ["blocks remove {block}", "{block}"],
  ["tokens revoke {token}", "{token}"],
  ["switch {rule} {state}", "{rule}"],
  ["switch {rule} on", "{rule}"],
  ["rules push {file} --force", "{pushed}"],
  ["rules publish {draft} --expected {expected}", "{draft}"],
  ["rules rollback {earlier}", "{next}"],
  ["rules pull {file}", "{published}"],
];

/** Verbs that make something under an id of its own. */
const CREATIONS = [
  "keys create --tenant acme --name web",
  "keys rotate {key}",
  "overrides add --subject user:42 --rule login --limit 500/minute --reason launch",
  "blocks add user:42 --reason fraud",
  "tokens create --name ci --role viewer",
];

/** Verbs that print neither. */
const OTHERS = ["audit verify", "rules diff {file}"];

const RULE_VERBS = ["pull", "push", "diff", "publish", "rollback", "history"];
const NOUNS = "plans tenants keys overrides blocks switch tokens audit nodes".split(" ");

it("these are all verbs of the control plane", async () => {
  const lines = [...LISTS.map(([line]) => line), ...ACTS.map(([line]) => line)];
  const tested = new Set([...lines, ...CREATIONS, ...OTHERS].map(verbOf));
  const program = await createProgram({ terminal: new FakeTerminal(), finish: () => {} });
  const verbs = verbsOf(program).filter(([noun, verb]) =>
    noun === "rules" ? RULE_VERBS.includes(verb) : NOUNS.includes(noun),
  );
  expect([...tested].sort()).toEqual(verbs.map((words) => words.join(" ")).sort());
});

describe.each(all)("with a control plane in $name", (databases) => {
  let admin: ControlAdmin;
  let pairs: Readonly<Record<string, readonly [string, string]>>;
  beforeEach(async () => {
    const nodes = async () => ["node-a", "node-b"].map(toNode);
    admin = await startControlAdmin(await databases.ready(), { control: { nodes } });
    const file = join(makeFolder("rules"), "rules.yaml");
    writeFileSync(file, toRules(7));
    pairs = { ...(await fillPlane(admin.plane)), file: [file, file] };
  });
  afterEach(() => admin.close());

  const fill = (text: string, nth: 0 | 1) =>
    text.replaceAll(/\{(\w+)\}/g, (_, name: string) => pairs[name]?.[nth] ?? name);
  const run = (line: string) => {
    const env = { SLUICE_ADMIN: admin.url, SLUICE_ADMIN_TOKEN: admin.tokens.admin };
    return sluice(line.split(" "), { env });
  };
  const print = async (line: string) => {
    const { code, out, err } = await run(fill(line, 0));
    expect({ line, code, err: code === 0 ? "" : err }).toEqual({ line, code: 0, err: "" });
    return out;
  };
  /** The answer, which is one line. */
  const read = async (line: string): Promise<Answer> => {
    const { out } = await run(`${fill(line, 1)} --json`);
    expect(out).toMatch(/^\{.*\}\n$/);
    return JSON.parse(out);
  };

  it.each(LISTS)(
    "sluice %s prints what its JSON has, as a table",
    async (line, head, field, id) => {
      const lines = (await print(line)).trimEnd().split("\n");
      const [title, ...rows] = lines.map((row) => row.split(/ {2,}/)[0]);
      expect(title).toBe(head);
      expect(rows).toEqual(expect.arrayContaining([fill(id, 0), fill(id, 1)]));
      const { items = [] } = await read(line);
      expect(items.map((item) => String(item[field]))).toEqual(rows);
    },
  );

  it.each(ACTS)("sluice %s names what it is about, in words and in JSON", async (line, id) => {
    expect((await print(line)).split(/[\s:;]+/)).toContain(fill(id, 0));
    const answer = await read(line);
    expect(String(answer.id ?? answer.number)).toBe(fill(id, 1));
  });

  it.each(CREATIONS)("sluice %s names what it made, in words and in JSON", async (line) => {
    const printed = /\b\w{12}\b/.exec(await print(line))?.[0];
    const { id } = await read(line);
    expect(id).not.toBe(printed);
    const { items = [] } = await read(`${line.split(" ", 1)[0]} list`);
    expect(items.map((item) => item.id)).toEqual(expect.arrayContaining([printed, id]));
  });

  it("sluice audit verify counts the entries, in words and in JSON", async () => {
    const { rows, valid } = await read("audit verify");
    expect({ valid, isCounted: Number(rows) > 0 }).toEqual({ valid: true, isCounted: true });
    expect(await print("audit verify")).toContain(`${rows} entries`);
  });

  it("sluice rules diff names the rule that differs, in words and in JSON", async () => {
    expect(await run(fill("rules diff {file}", 0))).toMatchObject({
      code: 1,
      out: expect.stringContaining("~ login"),
    });
    expect(JSON.stringify(await read("rules diff {file}"))).toContain('"login"');
  });
});

/** What tests look at in answers. */
interface Answer {
  readonly id?: string;
  readonly number?: number;
  readonly rows?: number;
  readonly valid?: boolean;
  readonly items?: readonly Readonly<Record<string, unknown>>[];
}

/** Makes two of everything. */
async function fillPlane(plane: ControlPlane): Promise<Record<string, [string, string]>> {
  const { plans, tenants, apiKeys, overrides, blocks, accessTokens, switches, ruleSets } = plane;
  const reason = "a test";
  const input = { rule: "login", limit: "9/minute", reason };
  for (const id of ["free", "pro"]) await plans.put(by(), { id, input: {} });
  for (const id of ["acme", "globex", "initech"]) await tenants.put(by(), { id, input: {} });
  await switches.put(by(), { id: "login", input: { state: "deny", reason } });
  const second = await ruleSets.createDraft(by(), toRules(4));
  await ruleSets.publish(by(), { number: second.number, note: "second", expected: 1 });
  for (const limit of [5, 6]) await ruleSets.createDraft(by(), toRules(limit));
  return {
    plan: ["free", "pro"],
    tenant: ["globex", "initech"],
    rule: ["login", "login"],
    state: ["off", "deny"],
    node: ["node-a", "node-b"],
    entry: ["1", "2"],
    earlier: ["1", "2"],
    published: ["2", "2"],
    expected: ["2", "3"],
    draft: ["3", "4"],
    pushed: ["5", "5"],
    next: ["5", "6"],
    key: await two((name) => apiKeys.create(by(), { tenant: "acme", name })),
    override: await two((name) => overrides.create(by(), { ...input, subject: `user:${name}` })),
    block: await two((name) => blocks.create(by(), { subjects: [`user:${name}`], reason })),
    token: await two((name) => accessTokens.create(by(), { name, role: "viewer" })),
  };
}

async function two(
  make: (name: string) => Promise<{ readonly id: string }>,
): Promise<[string, string]> {
  return [(await make("one")).id, (await make("two")).id];
}

function toNode(name: string) {
  const at = { version: "0.1.0", sequence: 7, behind: 0, seenAtMs: START_MS, isAway: false };
  return { ...at, name, kind: "control" as const, via: name };
}

function toRules(limit: number): string {
  return `version: 1\nrules:\n  - { id: login, key: ip, limit: ${limit}/minute }\n`;
}

function verbOf(line: string): string {
  return line.startsWith("switch") ? "switch" : line.split(" ", 2).join(" ");
}

/** The words of every verb that does something. */
function verbsOf(command: Command, words: readonly string[] = []): (readonly string[])[] {
  if (command.commands.length === 0) return [words];
  return command.commands.flatMap((verb) => verbsOf(verb, [...words, verb.name()]));
}
