import { type PostgresServer, startPostgres } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { startReplyCutter } from "../../../test/control/reply-cutter.js";
import type { Database } from "../../database/database.js";
import { migrate } from "../../database/migrate.js";
import { openDatabase } from "../../database/open-database.js";
import { DatabaseFeed } from "../feed/database-feed.js";
import { ControlState } from "../state/state.js";
import { searchAudit, verifyAudit } from "./audit.js";
import { type ChangeRequest, Changes, ConflictError, type Edit } from "./changes.js";
import { Entities } from "./entity.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = (id = `change-${++ids}`): ChangeRequest => ({
  id,
  actor: "anna",
  origin: "127.0.0.1",
  reason: "a test",
});
const plan = (id: string, body: Edit["body"], revision?: number): Edit => ({
  action: body === undefined ? "delete" : "save",
  kind: "plan",
  id,
  body,
  revision,
});

describe.each(all)("changes in $name", (databases) => {
  it("are numbered, and leave what they wrote with its revision and an audit entry", async () => {
    const database = await databases.ready();
    const changes = new Changes(database, { now: () => 1_700_000_000_000 });
    await changes.apply(by(), () => [plan("free", { tier: "free" }), plan("pro", { tier: "pro" })]);
    const [entry] = await changes.apply(by("second"), () => [plan("pro", { tier: "gold" })]);
    expect(entry).toMatchObject({
      sequence: 3,
      changeId: "second",
      atMs: 1_700_000_000_000,
      actor: "anna",
      origin: "127.0.0.1",
      reason: "a test",
      action: "save",
      kind: "plan",
      entityId: "pro",
      before: { tier: "pro" },
      after: { tier: "gold" },
    });
    const entities = new Entities(database);
    expect(await entities.list("plan")).toMatchObject([
      { id: "free", revision: 1, sequence: 1, body: { tier: "free" } },
      { id: "pro", revision: 3, sequence: 3, body: { tier: "gold" } },
    ]);
    await changes.apply(by(), () => [plan("free", undefined)]);
    expect(await entities.find("plan", "free")).toBeUndefined();
    expect(await searchAudit(database, { limit: 2 })).toMatchObject([
      { sequence: 4 },
      { sequence: 3 },
    ]);
    expect(await verifyAudit(database)).toEqual({ rows: 4 });
  });

  it("record once what was done to a counter, in the same chain, and nodes pass over it", async () => {
    const database = await databases.ready();
    const changes = new Changes(database);
    await changes.apply(by(), () => [plan("free", { tier: "free" })]);
    const details = { rule: "login", key: "ip:203.0.113.7" };
    const act = { action: "reset", kind: "counter", id: "login ip:203.0.113.7", details } as const;
    const [first] = await changes.record(by("sent twice"), act);
    expect(first).toMatchObject({ sequence: 2, action: "reset", kind: "counter", after: details });
    expect(await changes.record(by("sent twice"), act)).toEqual([first]);
    await changes.apply(by(), () => [plan("pro", { tier: "pro" })]);
    expect(await verifyAudit(database)).toEqual({ rows: 3 });
    const feed = new DatabaseFeed(database);
    const state = new ControlState();
    expect([...state.apply(await feed.changesAfter({ sequence: 0, hash: "" }))]).toEqual(["plan"]);
    expect([state.sequence, state.count("plan")]).toEqual([3, 2]);
    expect(state.toSnapshot()).toEqual(await feed.snapshot());
  });

  it("that are sent twice happen once, and get the same answer", async () => {
    const database = await databases.ready();
    const changes = new Changes(database);
    const request = by();
    const first = await changes.apply(request, () => [plan("a", { n: 1 })]);
    expect(await changes.apply(request, () => [plan("a", { n: 2 })])).toEqual(first);
    expect(await new Entities(database).find("plan", "a")).toMatchObject({
      revision: 1,
      body: { n: 1 },
    });
  });

  it("that edit an older revision are refused whole, with what is there now", async () => {
    const database = await databases.ready();
    const changes = new Changes(database);
    await changes.apply(by(), () => [plan("a", { n: 1 }, 0)]);
    await changes.apply(by(), () => [plan("a", { n: 2 }, 1)]);
    const stale = changes.apply(by(), () => [plan("b", { n: 9 }), plan("a", { n: 3 }, 1)]);
    const error = await stale.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ status: 409, current: { revision: 2, body: { n: 2 } } });
    expect(await new Entities(database).find("plan", "b")).toBeUndefined();
    expect(await verifyAudit(database)).toEqual({ rows: 2 });
  });

  it("that edit something of the same id that was removed meanwhile are refused", async () => {
    const database = await databases.ready();
    const changes = new Changes(database);
    const entities = new Entities(database);
    const revisionNow = async () => (await entities.find("plan", "a"))?.revision;
    const revisions = new Set<number | undefined>();
    for (let n = 0; n < 3; n++) {
      await changes.apply(by(), () => [plan("a", { n }, 0)]);
      revisions.add(await revisionNow());
      await changes.apply(by(), () => [plan("a", { n, edited: true })]);
      revisions.add(await revisionNow());
      await changes.apply(by(), () => [plan("a", undefined)]);
    }
    expect(revisions.size).toBe(6);
    await changes.apply(by(), () => [plan("a", { n: 9 }, 0)]);
    for (const revision of revisions) {
      const stale = changes.apply(by(), () => [plan("a", { n: 10 }, revision)]);
      await expect(stale).rejects.toBeInstanceOf(ConflictError);
    }
  });

  it("of two editors at the same time: one wins, the other gets a conflict", async () => {
    const url = await databases.create();
    const [one, two] = [databases.open(url), databases.open(url)];
    await migrate(one);
    await new Changes(one).apply(by(), () => [plan("a", { n: 0 })]);
    const editors = [one, two].map((database, n) =>
      new Changes(database).apply(by(), () => [plan("a", { n: n + 1 }, 1)]),
    );
    const outcomes = (await Promise.allSettled(editors)).map(({ status }) => status);
    expect(outcomes.sort()).toEqual(["fulfilled", "rejected"]);
    expect(await verifyAudit(two)).toEqual({ rows: 2 });
  });

  it("keep a log that verifies, whatever its strings are", async () => {
    const database = await databases.ready();
    const changes = new Changes(database);
    for (const text of ["a\0b", "half of \ud83d", "\udc00", "whole 😀"]) {
      const request = { ...by(), actor: text, origin: text, reason: text };
      await changes.apply(request, () => [plan("a", { name: text })]);
      const act = { action: "reset", kind: "counter" as const, id: text, details: { key: text } };
      await changes.record({ ...request, id: `${request.id}-act` }, act);
      expect((await new Entities(database).find("plan", "a"))?.body).toEqual({ name: text });
    }
    expect(await verifyAudit(database)).toEqual({ rows: 8 });
    const [latest] = await searchAudit(database, { limit: 1 });
    expect(latest).toMatchObject({ actor: "whole 😀", entityId: "whole 😀" });
  });

  it("leave nothing when their plan throws", async () => {
    const database = await databases.ready();
    const failed = new Changes(database).apply(by(), () => {
      throw new Error("not valid");
    });
    await expect(failed).rejects.toThrow("not valid");
    expect(await verifyAudit(database)).toEqual({ rows: 0 });
  });

  it.each([
    ["altered", "UPDATE audit SET reason = 'x' WHERE sequence = 2", "entry 2 was altered"],
    ["removed", "DELETE FROM audit WHERE sequence = 2", "entry 2 is missing"],
    [
      "cut off",
      "DELETE FROM audit WHERE sequence = 3",
      "the log ends at 2, and the last change was 3",
    ],
    [
      "altered with its hash",
      "UPDATE audit SET hash = 'x' WHERE sequence = 2",
      "entry 2 was altered",
    ],
  ])("an audit log that was %s does not verify", async (_name, tamper, problem) => {
    const database = await databases.ready();
    const changes = new Changes(database);
    for (const n of [1, 2, 3]) await changes.apply(by(), () => [plan("a", { n })]);
    await database.query(tamper);
    expect(await verifyAudit(database)).toMatchObject({ problem });
  });
});

describe("with PostgreSQL that fails", () => {
  let server: PostgresServer;
  const opened: Database[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await server?.stop();
  });

  function open(url: string): Database {
    const database = openDatabase(url, "/");
    opened.push(database);
    return database;
  }

  it("a crash under load loses no change, and applies none twice", async () => {
    const database = open(server.createDatabase());
    await migrate(database);
    const changes = new Changes(database, { retryMsMax: 30_000 });
    let isOver = false;
    const applied: string[] = [];
    const editors = Array.from({ length: 4 }, async (_, editor) => {
      for (let n = 0; !isOver; n++) {
        const id = `${editor}-${n}`;
        await changes.apply(by(`crash-${id}`), () => [plan(id, { n })]);
        applied.push(id);
      }
    });
    for (let crashes = 0; crashes < 3; crashes++) {
      const before = applied.length;
      await vi.waitFor(() => expect(applied.length).toBeGreaterThan(before + 10), 30_000);
      await server.restart("immediate");
    }
    isOver = true;
    await Promise.all(editors);
    expect(await verifyAudit(database)).toEqual({ rows: applied.length });
    const kept = await new Entities(database).list("plan", { limit: 100_000 });
    expect(kept.map(({ id }) => id).sort()).toEqual(applied.sort());
  });

  it("answers that are lost anywhere in a transaction make no change happen twice", async () => {
    const url = server.createDatabase();
    await migrate(open(url));
    const cutter = await startReplyCutter(server.port);
    const changes = new Changes(open(url.replace(`:${server.port}/`, `:${cutter.port}/`)), {
      retryMsMax: 30_000,
    });
    for (let n = 0; n < 40; n++) {
      cutter.cutAfterReplies = n % 14;
      await changes.apply(by(`cut-${n}`), () => [plan(`p${n}`, { n })]);
    }
    expect(cutter.cuts).toBeGreaterThan(20);
    cutter.server.close();
    const database = open(url);
    expect(await verifyAudit(database)).toEqual({ rows: 40 });
    const kept = await new Entities(database).list("plan", { limit: 1_000 });
    expect(kept).toHaveLength(40);
  });
});
