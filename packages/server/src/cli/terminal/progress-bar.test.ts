import { describe, expect, it } from "vitest";
import { FakeTerminal } from "../../../test/cli/fake-terminal.js";
import { formatProgress, ProgressBar } from "./progress-bar.js";

const say = (done: number, total: number | undefined) => `${done} of ${total} lines`;

describe("formatProgress", () => {
  it("fits the terminal, with a bar if there is room", () => {
    expect(formatProgress(450, { total: 1_000, say }, 80)).toMatch(
      /^\[#+-+\] {2}45% {2}450 of 1000 lines$/,
    );
    for (const columns of [10, 20, 40, 80, 200])
      expect(formatProgress(1, { total: 3, say }, columns).length).toBeLessThanOrEqual(columns);
  });
});

describe("a progress bar", () => {
  it("is drawn only where a person looks, and ends full", () => {
    const [seen, unseen] = [new FakeTerminal({ isErrorTty: true }), new FakeTerminal()];
    for (const terminal of [seen, unseen]) {
      const bar = new ProgressBar(terminal, { total: 10, say });
      bar.add(5);
      bar.end();
    }
    expect(seen.err).toMatch(/\r.* 50% .*\r.*100% {2}10 of 10 lines\n$/);
    expect(unseen.err).toBe("");
  });

  it("counts what has no known end", () => {
    const terminal = new FakeTerminal({ isErrorTty: true });
    const bar = new ProgressBar(terminal, { total: undefined, say: (done) => `${done} read` });
    bar.add(5);
    bar.add(6);
    bar.end();
    expect(terminal.err).toBe("\r5 read\r11 read\n");
  });
});
