import { describe, expect, it } from "vitest";
import { answerBatch } from "./batch.js";

describe("the answers to a batch", () => {
  it.each([
    ["one request", ["1"]],
    ["answers that are all equal", ["1", "1", "1"]],
    ["answers that all differ", ["1", "2", "3"]],
    ["equal answers first", ["1", "1", "2", "1", "1"]],
    ["equal answers last", ["1", "2", "2", "2"]],
  ])("are in the order of the requests with %s", async (_what, answers) => {
    const text = JSON.stringify({ answers: answers.map(Number) });
    const fail = (error: unknown) => expect.unreachable(String(error));
    expect(answerBatch(answers.length, (place) => answers[place], fail)).toBe(text);
    const later = async (place: number) => answers[place];
    expect(await answerBatch(answers.length, later, fail)).toBe(text);
  });
});
