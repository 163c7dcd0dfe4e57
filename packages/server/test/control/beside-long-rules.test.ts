// Long rules take seconds to read. A publish does not wait for what operators only look at, and no other change waits for
// a publish, or for a reload meanwhile. Nothing here comes from a database.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const PROGRAM = fileURLToPath(new URL("beside-long-rules-process.mjs", import.meta.url));

it("a publish goes before validations, and an override and a switch before long rules that are being read, also with a reload; unreadable ones are read once", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
  const { order, before, meanwhile, after, unreadable } = JSON.parse(stdout);
  expect(order).toEqual([
    "published",
    "validated",
    "validated",
    "validated",
    "switch",
    "long rules",
  ]);
  const off = [{ rule: "rule-1", state: "off" }];
  expect(before).toBe(5);
  expect(meanwhile).toEqual({ rules: 601, off, limit: 9 });
  expect(after).toEqual({ rules: 6_001, off, limit: 9 });
  expect(unreadable).toEqual({ reports: 1, errors: 1, all: "deny" });
}, 120_000);
