import { describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.js";
import { WaitingRoom } from "./delays.js";

describe("a waiting room", () => {
  it("lets a request go when its time is over and not before", async () => {
    const clock = new ManualClock(0);
    const wait = new WaitingRoom(clock, 10).enter(100);
    let answer: boolean | undefined;
    const ended = wait?.over.then((isOver) => {
      answer = isOver;
    });
    clock.advance(99);
    await Promise.resolve();
    expect(answer).toBeUndefined();
    clock.advance(1);
    await ended;
    expect(answer).toBe(true);
  });

  it("has room for so many, and for another when one has left or gone on", async () => {
    const clock = new ManualClock(0);
    const room = new WaitingRoom(clock, 2);
    const waits = [room.enter(100), room.enter(200)];
    expect(room.enter(1)).toBeUndefined();
    expect(waits[1]?.stop()).toBe(true);
    expect(await waits[1]?.over).toBe(false);
    expect(room.waiting).toBe(1);
    clock.advance(100);
    expect(await waits[0]?.over).toBe(true);
    expect(room.waiting).toBe(0);
  });

  it("counts each request out once, however often it is stopped", () => {
    const room = new WaitingRoom(new ManualClock(0), 2);
    const wait = room.enter(100);
    expect([wait?.stop(), wait?.stop()]).toEqual([true, false]);
    expect(room.waiting).toBe(0);
  });

  it("lets no request in where none may wait", () => {
    expect(new WaitingRoom(new ManualClock(0), 0).enter(1)).toBeUndefined();
  });
});
