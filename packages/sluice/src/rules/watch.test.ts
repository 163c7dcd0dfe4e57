import { renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SluiceError } from "../base/errors.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createPolicy } from "./policy/create-policy.js";
import type { Policy } from "./policy/policy.js";
import type { PolicyEvent } from "./policy/policy-events.js";
import { type RulesWatch, watchRules } from "./watch.js";

const POLL_MS = 1_000;
const file = (limit: number) => `version: 1\nrules:\n  - { id: all, limit: ${limit}/minute }\n`;

let folder: string;
let path: string;
let clock: ManualClock;
let policy: Policy;
let events: PolicyEvent[];
let errors: unknown[];
let watch: RulesWatch;

beforeEach(() => {
  folder = makeFolder("watch");
  path = join(folder, "sluice.yaml");
  writeFileSync(path, file(5));
  clock = new ManualClock(0);
  events = [];
  errors = [];
  policy = createPolicy({ rules: file(5), clock, onEvent: (event) => events.push(event) });
  watch = watchRules(path, policy, { clock, onError: (error) => errors.push(error) });
});

afterEach(() => {
  watch.close();
});

function limitNow(): number {
  return policy.rules.rules[0].limits[0].capacity;
}

describe("watchRules", () => {
  it("throws what is wrong with a file that can't be used at the start", () => {
    const none = join(folder, "none.yaml");
    const start = () => watchRules(none, policy, { clock });
    expect(start).toThrow(SluiceError);
    expect(start).toThrow(`invalid option: watchRules: the file "${none}" does not exist`);
    expect(() => watchRules(folder, policy, { clock })).toThrow(/can't be read: EISDIR/);
    writeFileSync(none, file(5).replace("limit", "limt"));
    expect(() => watchRules(none, policy, { clock })).toThrow(/limt is unknown.*none\.yaml:3/s);
    expect(limitNow()).toBe(5);
  });

  it("puts a changed file in force once it is at rest, and not before", () => {
    writeFileSync(path, file(7));
    clock.advance(POLL_MS);
    expect(limitNow()).toBe(5);
    clock.advance(POLL_MS);
    expect(limitNow()).toBe(7);
  });

  it("replaces nothing while the file says what is in force", () => {
    writeFileSync(path, `# a comment\n${file(5)}`);
    clock.advance(5 * POLL_MS);
    expect(events).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("never takes a file that is still growing, though each part of it could be read", () => {
    const whole = `${file(7)}  - { id: more, limit: 1/minute }\n`;
    for (let length = file(7).length; length < whole.length; length += 5) {
      writeFileSync(path, whole.slice(0, length));
      clock.advance(POLL_MS);
    }
    expect(limitNow()).toBe(5);
    writeFileSync(path, whole);
    clock.advance(2 * POLL_MS);
    expect(policy.rules.rules.map(({ id }) => id)).toEqual(["all", "more"]);
    expect(errors).toEqual([]);
  });

  it("changes nothing by a bad file, and says why once with its line", () => {
    writeFileSync(path, file(7).replace("7/minute", "ten"));
    clock.advance(10 * POLL_MS);
    expect(limitNow()).toBe(5);
    expect(errors).toHaveLength(1);
    expect(String(errors[0])).toMatch(/rule "all".*"ten".*sluice\.yaml:3/s);
    writeFileSync(path, file(8));
    clock.advance(2 * POLL_MS);
    expect(limitNow()).toBe(8);
  });

  it("says once that a file is gone, and takes it when it is back", () => {
    unlinkSync(path);
    clock.advance(5 * POLL_MS);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      code: "SLUICE_OPTION_INVALID",
      message: expect.stringContaining("does not exist"),
    });
    writeFileSync(path, file(9));
    clock.advance(2 * POLL_MS);
    expect(limitNow()).toBe(9);
    unlinkSync(path);
    clock.advance(POLL_MS);
    expect(errors).toHaveLength(2);
  });

  it("sees a file that an editor renames into place, and a link that points elsewhere", () => {
    writeFileSync(join(folder, "new"), file(6));
    renameSync(join(folder, "new"), path);
    clock.advance(2 * POLL_MS);
    expect(limitNow()).toBe(6);
    writeFileSync(join(folder, "linked"), file(4));
    symlinkSync("linked", join(folder, "link"));
    renameSync(join(folder, "link"), path);
    clock.advance(2 * POLL_MS);
    expect(limitNow()).toBe(4);
  });

  it("reads the file immediately when asked to", () => {
    writeFileSync(path, file(7));
    expect(watch.check()).toBe(true);
    expect(limitNow()).toBe(7);
    expect(watch.check()).toBe(false);
  });

  it("looks no more after close, also if the callback for new rules closed it", () => {
    watch.close();
    writeFileSync(path, file(7));
    clock.advance(5 * POLL_MS);
    expect(limitNow()).toBe(5);
    const closing = createPolicy({ rules: file(5), clock, onEvent: () => second.close() });
    const second = watchRules(path, closing, { clock, pollMs: 10 });
    writeFileSync(path, file(8));
    clock.advance(20);
    writeFileSync(path, file(9));
    clock.advance(100);
    expect(closing.rules.rules[0].limits[0].capacity).toBe(8);
  });

  it("survives a listener that throws, and a policy that was closed", async () => {
    const broken = watchRules(path, policy, {
      clock,
      pollMs: 10,
      onError: () => {
        throw new Error("mine");
      },
    });
    await policy.close();
    writeFileSync(path, file(7));
    expect(() => clock.advance(100)).not.toThrow();
    broken.close();
  });

  it("refuses options that it can't use", () => {
    expect(() => watchRules("", policy)).toThrow(/needs a file/);
    expect(() => watchRules(path, policy, { pollMs: 1 })).toThrow(/pollMs must be/);
    expect(() => watchRules(path, policy, { onError: 3 as never })).toThrow(/onError must be/);
  });
});
