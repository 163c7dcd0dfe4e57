import type { HomeStats } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { logPromotions } from "./home-watch.js";

describe("logPromotions", () => {
  it("logs each epoch that the process learns of, and not the first one that it sees", () => {
    const control: { stats: HomeStats | undefined } = { stats: undefined };
    const lines: unknown[] = [];
    let look = () => {};
    let isStopped = false;
    const stop = logPromotions(control, {
      log: { warn: (fields, text) => void lines.push(fields, text) },
      every: (_, task) => {
        look = task;
        return () => {
          isStopped = true;
        };
      },
    });
    const learn = (home: string, epoch: number) => {
      control.stats = {
        home,
        epoch,
        isOpen: true,
        ageMs: 0,
        isContested: false,
        fenceRefusals: 0,
      };
      look();
    };
    look();
    learn("eu", 1);
    learn("eu", 1);
    expect(lines).toEqual([]);
    learn("us", 2);
    learn("us", 2);
    control.stats = undefined;
    look();
    expect(lines).toEqual([{ home: "us", epoch: 2, from: "eu" }, "region us is home now"]);
    learn("eu", 4);
    expect(lines.slice(2)).toEqual([{ home: "eu", epoch: 4, from: "us" }, "region eu is home now"]);
    stop();
    expect(isStopped).toBe(true);
  });
});
