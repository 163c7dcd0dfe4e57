import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { DatabaseArbiter } from "./home-arbiter.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("an arbiter between regions in $name", (databases) => {
  let arbiter: DatabaseArbiter;
  beforeEach(async () => {
    arbiter = new DatabaseArbiter(await databases.ready());
  });
  const first = { epoch: 1, home: "eu" };

  it("begins with what it is first asked with, and keeps that", async () => {
    expect(await arbiter.read(first)).toEqual({ ...first, renewals: 0 });
    expect(await arbiter.read({ epoch: 7, home: "us" })).toEqual({ ...first, renewals: 0 });
  });

  it("counts renewals of the epoch in force, and refuses those of another", async () => {
    await arbiter.read(first);
    expect(await arbiter.renew(first)).toBe(true);
    expect(await arbiter.renew({ epoch: 1, home: "us" })).toBe(false);
    expect((await arbiter.read(first)).renewals).toBe(1);
    expect(await arbiter.promote({ epoch: 1, to: "us" })).toBe(true);
    expect(await arbiter.renew(first)).toBe(false);
    expect(await arbiter.read(first)).toEqual({ epoch: 2, home: "us", renewals: 1 });
  });

  it("takes a later epoch over, as after a restore", async () => {
    await arbiter.read(first);
    expect(await arbiter.renew({ epoch: 5, home: "us" })).toBe(true);
    expect(await arbiter.read(first)).toMatchObject({ epoch: 5, home: "us" });
  });

  it("promotes only if no renewal came since the caller looked, and once", async () => {
    const { renewals } = await arbiter.read(first);
    await arbiter.renew(first);
    expect(await arbiter.promote({ epoch: 1, renewals, to: "us" })).toBe(false);
    const both = await Promise.all([
      arbiter.promote({ epoch: 1, renewals: renewals + 1, to: "us" }),
      arbiter.promote({ epoch: 1, renewals: renewals + 1, to: "us" }),
    ]);
    expect(both.toSorted()).toEqual([false, true]);
    expect((await arbiter.read(first)).epoch).toBe(2);
  });
});
