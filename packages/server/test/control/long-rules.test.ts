// A rule set of a megabyte takes seconds to read. Decisions of the control node go on meanwhile.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeFolder } from "sluice-test-servers";
import { afterAll, expect, it } from "vitest";
import { testDatabases } from "./databases.js";

const PROGRAM = fileURLToPath(new URL("long-rules-process.mjs", import.meta.url));

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

it.each(all)(
  "decisions go on while a megabyte of rules is validated and published: $name",
  async (databases) => {
    const args = [PROGRAM, makeFolder("long-rules"), await databases.create()];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const [valid, invalid, draft, published, inForce] = lines;
    expect(valid).toMatchObject({ status: 200, answer: { valid: true, problems: [] } });
    const [problem] = invalid.answer.problems;
    expect(problem).toMatchObject({
      rule: "last",
      line: 303,
      message: expect.stringContaining("5/minute?"),
    });
    expect(draft.status).toBe(201);
    expect(published).toMatchObject({ status: 200, answer: { status: "published" } });
    expect(inForce).toEqual({ rules: 12_500 });
    // Reading takes all of the time, so a node that reads where it decides would stop for as long.
    expect(valid.longestMs).toBeLessThan(valid.tookMs / 4);
    expect(published.longestMs).toBeLessThan(published.tookMs / 2);
  },
  120_000,
);
