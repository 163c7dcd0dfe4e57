import { describe, expect, it } from "vitest";
import { andThen, notify } from "./maybe-promise.js";

describe("a value that is there", () => {
  it("goes on in the same turn, one that is not goes on later", async () => {
    expect(andThen(1, (value) => value + 1)).toBe(2);
    expect(await andThen(Promise.resolve(1), (value) => value + 1)).toBe(2);
  });
});

describe("a listener", () => {
  const broken = new Error("broken");

  it.each([
    [
      "throws",
      () => {
        throw broken;
      },
    ],
    ["rejects", () => Promise.reject(broken)],
  ])(
    "that %s breaks nothing, and its error is reported if there is a listener",
    async (_how, call) => {
      const errors: unknown[] = [];
      notify(call, (error) => errors.push(error));
      notify(call);
      await new Promise((done) => setImmediate(done));
      expect(errors).toEqual([broken]);
    },
  );

  it("is not waited for", () => {
    expect(notify(() => new Promise(() => {}))).toBeUndefined();
  });
});
