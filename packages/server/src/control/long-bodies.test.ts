// Rule sets can be megabytes each, and there may be hundreds of versions. A viewer or a starting node that needs many of
// them reads a few at a time: the node's decisions wait while a row is read, and its memory is bounded.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import type { Database } from "../database/database.js";
import { listAudit } from "./changes/audit.js";
import { ControlPlane } from "./control-plane.js";
import { DatabaseFeed } from "./feed/database-feed.js";

const VERSIONS = 12;
const TEXT_LENGTH = 1_500_000;
/** A few versions, each as it was before and after. */
const ANSWER_LENGTH_MAX = 5 * TEXT_LENGTH;

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

/** A database that notes how many characters its longest answer has. */
function watching(database: Database) {
  const longest = { length: 0 };
  const watched = new Proxy(database, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (name !== "query") return member.bind(target);
      return async (...args: Parameters<Database["query"]>) => {
        const rows = await target.query(...args);
        const values = rows.flatMap((row) => Object.values(row));
        const length = values.reduce((sum: number, value) => sum + String(value ?? "").length, 0);
        longest.length = Math.max(longest.length, length);
        return rows;
      };
    },
  });
  return { watched, longest };
}

describe.each(all)("many versions of long rules in $name", (databases) => {
  let database: Database;

  beforeAll(async () => {
    database = await databases.ready();
    const { ruleSets } = new ControlPlane({ database });
    for (let n = 1; n <= VERSIONS; n++) {
      const by = { id: `change-${n}`, actor: "anna", origin: "local", reason: "a test" };
      await ruleSets.createDraft(by, `# ${"x".repeat(TEXT_LENGTH)}\nversion: 1\nrules: []\n`);
    }
  });

  const reads: readonly [string, (watched: Database) => Promise<unknown>, unknown][] = [
    [
      "the list of versions",
      async (watched) => {
        const heads = await new ControlPlane({ database: watched }).ruleSets.list({ limit: 11 });
        expect(heads.every((head) => !("text" in head))).toBe(true);
        return heads.map(({ number }) => number);
      },
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    ],
    [
      "the audit log, page by page",
      async (watched) => {
        const plane = new ControlPlane({ database: watched });
        const seen: number[] = [];
        for (let before: number | undefined; ; before = seen.at(-1)) {
          const page = await plane.searchAudit({ before, limit: 1_000 });
          if (page.length === 0) return seen.length;
          for (const { sequence, after } of page) {
            expect(String(after?.text).length).toBeGreaterThan(TEXT_LENGTH);
            seen.push(sequence);
          }
        }
      },
      VERSIONS,
    ],
    [
      "the audit log without bodies, in one page",
      async (watched) => {
        const plane = new ControlPlane({ database: watched });
        return (await plane.searchAudit({ limit: 1_000, hasBodies: false })).length;
      },
      VERSIONS,
    ],
    [
      "the check of the audit log",
      (watched) => new ControlPlane({ database: watched }).verifyAudit(),
      { rows: VERSIONS },
    ],
    [
      "a snapshot for nodes",
      async (watched) => (await new DatabaseFeed(watched).snapshot()).entities.length,
      VERSIONS,
    ],
    [
      "changes for nodes",
      async (watched) => {
        let position = { sequence: 0, hash: "" };
        for (;;) {
          const changes = await new DatabaseFeed(watched).changesAfter(position);
          const last = changes.at(-1);
          if (last === undefined) return position.sequence;
          position = { sequence: last.sequence, hash: last.hash ?? "" };
        }
      },
      VERSIONS,
    ],
  ];

  it.each(reads)("are read a few at a time for %s", async (_, read, expected) => {
    const { watched, longest } = watching(database);
    expect(await read(watched)).toEqual(expected);
    expect(longest.length).toBeLessThan(ANSWER_LENGTH_MAX);
  });

  it("come one at a time if each is longer than what is read in one go", async () => {
    expect(await listAudit(database, 3, 100)).toHaveLength(1);
    expect(await listAudit(database, VERSIONS, 100)).toEqual([]);
  });
});
