import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { createTelemetry } from "../create-telemetry.js";
import { silentTelemetry } from "../silent-telemetry.js";
import { PROBLEM_KINDS_MAX, PROBLEM_QUIET_MS, RepeatedProblems } from "./repeated-problems.js";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly leftOut?: number;
  readonly err: { readonly message: string };
  readonly upstream?: string;
}

/** Problems whose lines can be read and whose quiet ends by hand. */
function setUp() {
  const lines: Line[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  let tasks: (() => void)[] = [];
  const problems = new RepeatedProblems(log, (delayMs, task) => {
    expect(delayMs).toBe(PROBLEM_QUIET_MS);
    tasks.push(task);
  });
  const endQuiet = () => {
    const due = tasks;
    tasks = [];
    for (const task of due) task();
    return due.length;
  };
  return { problems, lines, endQuiet };
}

describe("problem", () => {
  it("of a kind is logged immediately the first time, then in one line for ten seconds with how many were left out", () => {
    const { problems, lines, endQuiet } = setUp();
    problems.report("no answer", new Error("first"), { upstream: "app" });
    expect(lines).toMatchObject([
      { level: 40, msg: "no answer", err: { message: "first" }, upstream: "app" },
    ]);
    for (let i = 2; i <= 1_000; i++) problems.report("no answer", new Error(`the ${i}th`));
    expect(lines.length).toBe(1);
    endQuiet();
    expect(lines.slice(1)).toMatchObject([{ leftOut: 998, err: { message: "the 1000th" } }]);
    problems.report("no answer", new Error("one more"));
    expect(lines.length).toBe(2);
    endQuiet();
    expect(lines.slice(2)).toMatchObject([{ leftOut: 0, err: { message: "one more" } }]);
  });

  it("that stopped is said no more, and is the first again when it comes back", () => {
    const { problems, lines, endQuiet } = setUp();
    problems.report("no answer", new Error("first"));
    expect([endQuiet(), endQuiet()]).toEqual([1, 0]);
    expect(lines.length).toBe(1);
    problems.report("no answer", new Error("back"));
    expect(lines.slice(1)).toMatchObject([{ msg: "no answer", err: { message: "back" } }]);
  });

  it(`of one kind hides no other, of at most ${PROBLEM_KINDS_MAX} at a time`, () => {
    const { problems, lines, endQuiet } = setUp();
    for (let i = 0; i < PROBLEM_KINDS_MAX + 50; i++) problems.report(`kind ${i}`, new Error("x"));
    expect(lines.length).toBe(PROBLEM_KINDS_MAX + 1);
    expect(lines.at(-1)?.msg).toBe("other problems");
    expect(endQuiet()).toBe(PROBLEM_KINDS_MAX + 1);
    expect(lines.at(-1)).toMatchObject({ msg: "other problems", leftOut: 48 });
  });

  it("says the error's message, code and cause, and nothing else that hangs on it", () => {
    const { problems, lines } = setUp();
    const cause = Object.assign(new Error("the reply"), { command: { args: ["ip:203.0.113.10"] } });
    const error = new Error("it failed", { cause });
    problems.report(
      "no answer",
      Object.assign(error, { code: "ECONNRESET", command: cause.command }),
    );
    const [line] = lines;
    expect(line.err).toMatchObject({ message: "it failed: the reply", code: "ECONNRESET" });
    expect(JSON.stringify(line)).not.toContain("203.0.113.10");
  });

  it("of every request is one line of the service's log, whatever was thrown", () => {
    const lines: Line[] = [];
    const telemetry = createTelemetry(
      { logLevel: "info", decisionLogShare: 0, region: "local", topKeysMax: 5 },
      { destination: { write: (line) => void lines.push(JSON.parse(line)) } },
    );
    for (let i = 0; i < 100; i++)
      telemetry.problem("not decided", "no error", { listener: "gateway" });
    expect(lines).toMatchObject([{ msg: "not decided", err: "no error", listener: "gateway" }]);
    expect(() => silentTelemetry().problem("not decided", undefined)).not.toThrow();
  });
});
