import { expect, it } from "vitest";
import { toPretty } from "./pretty-log.js";

it("shows no character that moves the cursor or turns the direction of writing", () => {
  const evil = "a\x1b[2J\x9b2J\n\u202eb";
  const line = { level: 40, time: 0, msg: evil, [evil]: evil, err: { message: evil } };
  const pretty = toPretty(JSON.stringify({ ...line, problems: [evil] }));
  expect(pretty).toContain("warn   a\ufffd[2J\ufffd2J\ufffd\ufffdb");
  expect(pretty).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
});

it("shows whatever was thrown, be it no error", () => {
  const showing = (err: unknown) => toPretty(JSON.stringify({ level: 50, msg: "failed", err }));
  expect(showing(null)).toMatch(/failed$/);
  expect(showing("refused")).toMatch(/failed\n +refused$/);
});
