import { beforeEach, describe, expect, it } from "vitest";
import { HELD_BYTES_MAX, RequestBody } from "./request-body.js";

/** The calls to the source and to the reader, in order. */
let log: string[];
let body: RequestBody;

beforeEach(() => {
  log = [];
  body = new RequestBody({
    pauseReading: () => log.push("pause"),
    resumeReading: () => log.push("resume"),
  });
});

const reader = {
  onPiece: (piece: Buffer) => log.push(`piece ${piece}`),
  onBodyEnd: () => log.push("end"),
};

const push = (text: string) => body.push(Buffer.from(text));
const held = (isWhole: boolean) => log.push(`held ${isWhole}`);

describe("a body without a reader", () => {
  it("is held, and handed over as one piece to the reader who comes late", () => {
    for (const text of ["a", "b", "c"]) push(text);
    expect(`${body.held}`).toBe("abc");
    body.readTo(reader);
    push("d");
    body.finish();
    expect(log).toEqual(["piece abc", "piece d", "end"]);
    expect(body.isComplete).toBe(true);
  });

  it("is handed over with its end if that was there", () => {
    push("a");
    body.finish();
    body.readTo(reader);
    expect(log).toEqual(["piece a", "end"]);
  });

  it("stops its source one byte beyond the bound, once, until it is read", () => {
    push("x".repeat(HELD_BYTES_MAX));
    expect(log).toEqual([]);
    push("y");
    push("z");
    expect(log).toEqual(["pause"]);
    expect(body.isPaused).toBe(true);
    body.readTo({ ...reader, onPiece: ({ length }) => log.push(`${length} bytes`) });
    expect(log).toEqual(["pause", "resume", `${HELD_BYTES_MAX + 2} bytes`]);
  });

  it("does not hold up the next request: its end resumes its source", () => {
    push("x".repeat(HELD_BYTES_MAX + 1));
    body.finish();
    expect(log).toEqual(["pause", "resume"]);
    expect(body.held.length).toBe(HELD_BYTES_MAX + 1);
  });

  it("of a thousand pieces is whole", () => {
    let text = "";
    for (let i = 0; i < 1_000; i++) {
      push(`${i},`);
      text += `${i},`;
    }
    expect(`${body.held}`).toBe(text);
  });
});

describe("a reader", () => {
  it("that pauses stops the source, and starts it again", () => {
    body.readTo(reader);
    body.pause();
    body.pause();
    expect(body.isPaused).toBe(true);
    // What was on its way still comes.
    push("a");
    body.resume();
    body.resume();
    expect(log).toEqual(["pause", "piece a", "resume"]);
  });

  it("can't pause what is complete", () => {
    body.readTo(reader);
    body.finish();
    body.pause();
    expect(log).toEqual(["end"]);
    expect(body.isPaused).toBe(false);
  });

  it("that drops the rest gets none of it, and the source is not kept waiting", () => {
    body.readTo(reader);
    body.pause();
    body.drop();
    push("a");
    body.finish();
    expect(log).toEqual(["pause", "resume"]);
    expect(body.isDropped).toBe(true);
    expect(body.isComplete).toBe(true);
  });
});

describe("a caller that waits until a body is held", () => {
  it("is notified once that all of it is, and takes nothing", () => {
    body.whenHeld(10, held);
    push("0123456789");
    expect(log).toEqual([]);
    body.finish();
    expect(log).toEqual(["held true"]);
    expect(`${body.held}`).toBe("0123456789");
    body.abort();
    expect(log).toEqual(["held true"]);
  });

  it("reports immediately that all of it is there, or too much", () => {
    push("0123456789");
    body.whenHeld(9, held);
    expect(log).toEqual(["held false"]);
    body.finish();
    body.whenHeld(10, held);
    body.whenHeld(9, held);
    expect(log).toEqual(["held false", "held true", "held false"]);
  });

  it("is notified with the first byte beyond what was asked for", () => {
    body.whenHeld(10, held);
    push("0123456789");
    push("x");
    push("y");
    expect(log).toEqual(["held false"]);
    expect(`${body.held}`).toBe("0123456789xy");
  });

  it("is notified when the rest does not come", () => {
    body.whenHeld(10, held);
    push("a");
    body.abort();
    expect(log).toEqual(["held false"]);
    expect(body.isDropped).toBe(true);
  });

  it("is not kept waiting by the bound of those who don't wait", () => {
    push("x".repeat(HELD_BYTES_MAX + 1));
    body.whenHeld(2 * HELD_BYTES_MAX, held);
    expect(log).toEqual(["pause", "resume"]);
    push("x".repeat(HELD_BYTES_MAX));
    expect(log).toEqual(["pause", "resume", "held false", "pause"]);
  });

  it("may read it when notified, and then nothing is held or stopped", () => {
    body.whenHeld(10, () =>
      body.readTo({ ...reader, onPiece: ({ length }) => log.push(`${length}`) }),
    );
    push("x".repeat(HELD_BYTES_MAX + 1));
    expect(log).toEqual([`${HELD_BYTES_MAX + 1}`]);
  });
});
