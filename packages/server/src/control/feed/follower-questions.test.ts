import { describe, expect, it } from "vitest";
import { ASKED_MAX, type AskedStreams, FollowerQuestions } from "./follower-questions.js";
import type { NodeAnswer, NodeAsk } from "./node-question.js";

const QUESTION = { kind: "since", spanMs: 1_000, countMax: 10 } as const;
/** Longer than a test takes: what waits for all of it fails. */
const LONG_MS = 600_000;

const answerTo = ({ id }: NodeAsk): NodeAnswer => {
  return { id, nowMs: 0, store: { kind: "memory", id: "m" } };
};

/** Followers of which the named ones answer, as soon as they are asked. */
function setUp(names: readonly string[], answering: readonly string[] = names) {
  const asked: { name: string; ask: NodeAsk }[] = [];
  const streams: AskedStreams = {
    names: () => new Set(names),
    askNode(name, ask) {
      asked.push({ name, ask });
      if (answering.includes(name)) queueMicrotask(() => questions.take(name, answerTo(ask)));
      return true;
    },
  };
  const questions = new FollowerQuestions(streams);
  return { questions, asked };
}

describe("a question to followers", () => {
  it("ends when all have answered", async () => {
    const { questions } = setUp(["a", "b"]);
    const { answers, silent, connected } = await questions.ask(QUESTION, LONG_MS);
    expect([[...answers.keys()], silent, connected]).toEqual([["a", "b"], [], 2]);
  });

  it("names who did not answer in time, and does not wait for it the next time", async () => {
    const { questions, asked } = setUp(["a", "deaf"], ["a"]);
    expect((await questions.ask(QUESTION, 1)).silent).toEqual(["deaf"]);
    const again = await questions.ask(QUESTION, LONG_MS);
    expect([[...again.answers.keys()], again.silent]).toEqual([["a"], ["deaf"]]);
    // It is asked all the same, and waited for again once it has answered.
    const late = asked.filter(({ name }) => name === "deaf").at(-1);
    if (late !== undefined) questions.take("deaf", answerTo(late.ask));
    const waiting = questions.ask(QUESTION, LONG_MS);
    const last = asked.at(-1);
    expect(last?.name).toBe("deaf");
    if (last !== undefined) queueMicrotask(() => questions.take("deaf", answerTo(last.ask)));
    expect((await waiting).silent).toEqual([]);
  });

  it("takes no answer of a node that was not asked, no second one, and none to another question", async () => {
    const { questions, asked } = setUp(["a", "b"], []);
    const waiting = questions.ask(QUESTION, LONG_MS);
    const [{ ask }] = asked;
    questions.take("stranger", answerTo(ask));
    questions.take("a", { ...answerTo(ask), id: "another" });
    const first = answerTo(ask);
    questions.take("a", first);
    questions.take("a", { ...answerTo(ask), nowMs: 7 });
    questions.take("b", answerTo(ask));
    const { answers } = await waiting;
    expect([...answers.keys()]).toEqual(["a", "b"]);
    expect(answers.get("a")).toBe(first);
  });

  it("goes to fifty of many, others each time", async () => {
    const names = Array.from({ length: 120 }, (_, n) => `node-${String(n).padStart(3, "0")}`);
    const { questions } = setUp(names);
    const seen = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const { answers, connected } = await questions.ask(QUESTION, LONG_MS);
      expect([answers.size, connected]).toEqual([ASKED_MAX, 120]);
      for (const name of answers.keys()) seen.add(name);
    }
    expect(seen.size).toBe(120);
  });

  it("goes to no follower if too many are under way", async () => {
    const { questions, asked } = setUp(["deaf"], []);
    const waiting = Array.from({ length: 16 }, () => questions.ask(QUESTION, LONG_MS));
    const { answers, connected } = await questions.ask(QUESTION, LONG_MS);
    expect([answers.size, connected, asked.length]).toEqual([0, 1, 16]);
    for (const { name, ask } of asked) questions.take(name, answerTo(ask));
    await Promise.all(waiting);
  });
});
