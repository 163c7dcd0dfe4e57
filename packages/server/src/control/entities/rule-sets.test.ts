import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { searchAudit, verifyAudit } from "../changes/audit.js";
import { Changes } from "../changes/changes.js";
import { RuleSets } from "./rule-sets.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });
const rules = (perMinute: number) =>
  `version: 1\nrules:\n  - id: login\n    match: { path: /login }\n    limit: ${perMinute}/minute\n`;

describe.each(all)("rule sets in $name", (databases) => {
  async function start() {
    const database = await databases.ready();
    return { database, sets: new RuleSets(database, new Changes(database)) };
  }

  it("go from draft to published to superseded, numbered, each with its note", async () => {
    const { sets } = await start();
    expect(await sets.published()).toBeUndefined();
    const first = await sets.createDraft(by(), rules(5));
    expect(first).toMatchObject({ number: 1, status: "draft", basedOn: 0, revision: 1 });
    await sets.publish(by(), { number: 1, note: "the first", expected: 0 });
    const second = await sets.createDraft(by(), rules(7));
    expect(second).toMatchObject({ number: 2, status: "draft", basedOn: 1 });
    await sets.publish(by(), { number: 2, note: "more", expected: 1 });
    expect(await sets.published()).toMatchObject({ number: 2, note: "more", text: rules(7) });
    expect((await sets.list()).map(({ status }) => status)).toEqual(["superseded", "published"]);
    const published = { publishedBy: "anna", publishedAtMs: expect.any(Number) };
    expect(await sets.list()).toMatchObject([published, published]);
    expect(second.publishedAtMs).toBeUndefined();
    expect(await sets.diff(1, 2)).toMatchObject({
      changed: [{ id: "login", counters: "carried" }],
    });
  });

  it("that can't be used stay drafts", async () => {
    const { sets } = await start();
    await sets.createDraft(by(), "version: 1\nrules:\n  - id: login\n    limt: 5/minute\n");
    const published = sets.publish(by(), { number: 1, note: "", expected: 0 });
    await expect(published).rejects.toThrow("limt");
    expect(await sets.published()).toBeUndefined();
    await sets.editDraft(by(), { number: 1, text: rules(5), revision: 1 });
    expect(await sets.publish(by(), { number: 1, note: "", expected: 0 })).toMatchObject({
      status: "published",
    });
  });

  it("are edited by one editor at a time", async () => {
    const { sets } = await start();
    await sets.createDraft(by(), rules(5));
    await sets.editDraft(by(), { number: 1, text: rules(6), revision: 1 });
    const stale = sets.editDraft(by(), { number: 1, text: rules(7), revision: 1 });
    await expect(stale).rejects.toMatchObject({ status: 409, current: { revision: 2 } });
    expect(await sets.find(1)).toMatchObject({ text: rules(6) });
  });

  it("of two publishers at the same time: one wins, the other gets 409 with what is published now", async () => {
    const { sets } = await start();
    await sets.createDraft(by(), rules(5));
    await sets.createDraft(by(), rules(6));
    const publishers = [1, 2].map((number) =>
      sets.publish(by(), { number, note: "", expected: 0 }),
    );
    const [lost, ...others] = (await Promise.allSettled(publishers)).filter(
      ({ status }) => status === "rejected",
    );
    expect(others).toEqual([]);
    const winner = await sets.published();
    expect(lost).toMatchObject({
      reason: { status: 409, current: { id: String(winner?.number).padStart(10, "0") } },
    });
  });

  it("are rolled back by a new version with the old rules", async () => {
    const { database, sets } = await start();
    for (const [index, text] of [rules(5), rules(6)].entries()) {
      await sets.createDraft(by(), text);
      await sets.publish(by(), { number: index + 1, note: "", expected: index });
    }
    const back = await sets.rollback(by(), { to: 1, note: "too many", expected: 2 });
    expect(back).toMatchObject({
      number: 3,
      status: "published",
      text: rules(5),
      note: "too many",
    });
    expect((await sets.list()).map(({ status }) => status)).toEqual([
      "superseded",
      "superseded",
      "published",
    ]);
    expect((await searchAudit(database)).reverse().map(({ action }) => action)).toEqual([
      "draft",
      "publish",
      "draft",
      "supersede",
      "publish",
      "supersede",
      "publish",
    ]);
    expect(await verifyAudit(database)).toMatchObject({ rows: 7 });
  });

  it("that were published are not edited, published again or rolled back to while they are in force", async () => {
    const { sets } = await start();
    await sets.createDraft(by(), rules(5));
    await sets.publish(by(), { number: 1, note: "", expected: 0 });
    const edit = sets.editDraft(by(), { number: 1, text: rules(9), revision: 2 });
    await expect(edit).rejects.toThrow("rule set 1 is published, not a draft");
    await expect(sets.publish(by(), { number: 1, note: "", expected: 1 })).rejects.toThrow(
      "not a draft",
    );
    await expect(sets.rollback(by(), { to: 1, note: "", expected: 1 })).rejects.toThrow(
      "rule set 1 is the published one",
    );
    await expect(sets.rollback(by(), { to: 9, note: "", expected: 1 })).rejects.toThrow(
      "there is no rule set 9",
    );
    await expect(sets.publish(by(), { number: 9, note: "", expected: 1 })).rejects.toThrow(
      "there is no rule set 9",
    );
  });
});
