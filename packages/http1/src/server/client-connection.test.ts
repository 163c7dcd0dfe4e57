// A connection from request to request: whose turn it is, what takes too long, and clients that read slowly,
// leave, or send more than they may. Ticks are counted by the test.

import { describe, expect, it } from "vitest";
import { type Served, serve, settle, TICKS, Wire } from "../../test/wire.js";
import type { Exchange, ExchangeWatcher } from "./exchange.js";

/** A client, its server, and the exchanges that were not answered yet. */
class Stand implements ExchangeWatcher {
  readonly wire = new Wire();
  readonly exchanges: Exchange[] = [];
  readonly targets: string[] = [];
  readonly events: string[] = [];
  readonly #served: Served;
  /** Whether exchanges are watched. */
  isWatching = true;

  constructor() {
    const onExchange = (exchange: Exchange) => {
      if (this.isWatching) exchange.watcher = this;
      this.exchanges.push(exchange);
      this.targets.push(exchange.target);
    };
    const onClosed = () => void this.events.push("closed");
    this.#served = serve(this.wire, { onExchange, onClosed });
  }

  get isOpen(): boolean {
    return !this.wire.destroyed && !this.wire.writableEnded;
  }

  async send(text: string): Promise<void> {
    this.wire.arrive(text);
    await settle();
  }

  /** Answers the exchange that waits. */
  async reply(body = "", change: (exchange: Exchange) => void = () => {}): Promise<void> {
    const exchange = this.exchanges.shift() as Exchange;
    change(exchange);
    exchange.reply(200, "", body);
    await settle();
  }

  async tick(count: number): Promise<void> {
    this.#served.tick(count);
    await settle();
  }

  drain(): void {
    this.#served.drain();
  }

  onExchangeOver(): void {
    this.events.push("over");
  }

  onClientReady(): void {
    this.events.push("ready");
  }

  onBodyBroken(status: number): void {
    this.events.push(`broken ${status}`);
    const exchange = this.exchanges.shift() as Exchange;
    exchange.reply(status, "", "");
  }
}

function get(target: string, fields = ""): string {
  return `GET ${target} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;
}

function post(target: string, length: number, body = ""): string {
  return `POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

/** How many answers went out. */
const answersIn = ({ wire }: Stand) => wire.written.split("HTTP/1.1 200").length - 1;

describe("requests that are sent ahead", () => {
  it("have their turns one after the other, in order", async () => {
    const stand = new Stand();
    await stand.send(get("/a") + post("/b", 2, "xy") + get("/c").slice(0, 10));
    expect(stand.targets).toEqual(["/a"]);
    await stand.reply();
    expect(stand.targets).toEqual(["/a", "/b"]);
    await stand.send(get("/c").slice(10) + get("/d"));
    await stand.reply();
    await stand.reply();
    expect(stand.targets).toEqual(["/a", "/b", "/c", "/d"]);
    await stand.reply();
    expect(answersIn(stand)).toBe(4);
  });

  it("are not read beyond a bound while one is under way", async () => {
    const stand = new Stand();
    await stand.send(get("/a"));
    for (let i = 0; i < 1_000; i++) stand.wire.arrive(get(`/${i}`));
    await settle();
    expect(stand.wire.isPaused()).toBe(true);
    expect(stand.wire.readableLength).toBeGreaterThan(20_000);
    for (let i = 0; i < 1_000; i++) await stand.reply();
    expect(stand.targets).toEqual(["/a", ...Array.from({ length: 1_000 }, (_, i) => `/${i}`)]);
  });

  it("are forgotten behind one that says it is the last", async () => {
    const stand = new Stand();
    await stand.send(get("/a", "Connection: close\r\n") + get("/b"));
    await stand.reply();
    await stand.send(get("/c"));
    expect(stand.targets).toEqual(["/a"]);
    expect(stand.isOpen).toBe(false);
  });

  it("don't hide that the client has left", async () => {
    const stand = new Stand();
    await stand.send(get("/a") + get("/b"));
    stand.wire.push(null);
    await settle();
    expect(stand.events).toEqual(["closed", "over"]);
    expect(stand.targets).toEqual(["/a"]);
  });

  it("are not requests once the protocol is switched, but the body of the exchange that switched it", async () => {
    const stand = new Stand();
    await stand.send(`${get("/a")}early `);
    const body = stand.exchanges[0].switchToWebSocket("Switching Protocols", "");
    await stand.send(get("/b"));
    expect(`${body.held}`).toBe(`early ${get("/b")}`);
    expect(stand.targets).toEqual(["/a"]);
    await stand.tick(1_000);
    expect(stand.isOpen).toBe(true);
  });
});

describe("a client that does not read", () => {
  it("gets no more answers than the connection holds, and the rest when it reads", async () => {
    const stand = new Stand();
    stand.wire.isRead = false;
    await stand.send(get("/a").repeat(200));
    for (let i = 0; i < 200 && stand.exchanges.length > 0; i++)
      await stand.reply("x".repeat(1_000));
    expect(stand.exchanges).toHaveLength(0);
    expect(stand.targets.length).toBeLessThan(100);
    stand.wire.isRead = true;
    await settle();
    while (stand.exchanges.length > 0) await stand.reply("x".repeat(1_000));
    expect(answersIn(stand)).toBe(200);
  });

  it("is reported to the exchange when it reads again", async () => {
    const stand = new Stand();
    await stand.send(get("/a"));
    const [exchange] = stand.exchanges;
    stand.wire.isRead = false;
    exchange?.begin(200, "OK", "", undefined, false);
    expect(exchange?.write(Buffer.alloc(100_000))).toBe(false);
    stand.wire.isRead = true;
    await settle();
    expect(stand.events).toEqual(["ready"]);
  });

  it.each(["", "Connection: close\r\n"])(
    "has as long for the last piece as the exchange says, %j",
    async (fields) => {
      const [slow, gone] = [new Stand(), new Stand()];
      for (const stand of [slow, gone]) {
        stand.wire.isRead = false;
        await stand.send(get("/a", fields));
        await stand.reply("x".repeat(1_000), (exchange) => {
          exchange.flushMsMax = 100;
        });
        await stand.tick(99);
        expect(stand.wire.destroyed).toBe(false);
        expect(stand.events).toEqual([]);
      }
      slow.wire.isRead = true;
      await settle();
      expect(slow.wire.written).toMatch(/\r\n\r\nx{1000}$/);
      expect(slow.events).toEqual(["over"]);
      await gone.tick(1);
      expect(gone.wire.destroyed).toBe(true);
      expect(gone.events).toContain("over");
    },
  );

  it("has the usual time again once it has read the last piece", async () => {
    const stand = new Stand();
    stand.wire.isRead = false;
    await stand.send(get("/a"));
    await stand.reply("x", (exchange) => {
      exchange.flushMsMax = 2;
    });
    await stand.tick(1);
    stand.wire.isRead = true;
    await settle();
    await stand.tick(TICKS.keep - 1);
    expect(stand.isOpen).toBe(true);
    await stand.tick(2);
    expect(stand.isOpen).toBe(false);
  });
});

describe("a connection on which nothing comes", () => {
  it("is closed without a word when it is new, as late as a head may be", async () => {
    const stand = new Stand();
    await stand.tick(TICKS.head - 1);
    expect(stand.isOpen).toBe(true);
    await stand.tick(1);
    expect(stand.wire.destroyed).toBe(true);
    expect(stand.wire.written).toBe("");
  });

  it("is closed after the time that idle connections are kept, and not while it has an exchange", async () => {
    const stand = new Stand();
    await stand.send(get("/a"));
    await stand.tick(1_000);
    await stand.reply();
    await stand.tick(TICKS.keep - 1);
    expect(stand.isOpen).toBe(true);
    await stand.tick(1);
    expect(stand.isOpen).toBe(false);
  });

  it("is closed while the server drains, but not before a request could have come", async () => {
    const stand = new Stand();
    await stand.send(get("/a"));
    await stand.reply();
    stand.drain();
    await stand.tick(TICKS.grace - 1);
    expect(stand.isOpen).toBe(true);
    await stand.tick(1);
    expect(stand.isOpen).toBe(false);
  });

  it("is not closed by draining while its last answer is on its way", async () => {
    const stand = new Stand();
    stand.wire.isRead = false;
    await stand.send(get("/a"));
    await stand.reply("x");
    stand.drain();
    await stand.tick(TICKS.grace + 5);
    expect(stand.isOpen).toBe(true);
    stand.wire.isRead = true;
    await settle();
    await stand.tick(TICKS.grace + 1);
    expect(stand.isOpen).toBe(false);
    expect(stand.wire.written).toMatch(/x$/);
  });
});

describe("what comes too slowly", () => {
  it("is 408 for a head, counted from its first byte, whatever trickles in", async () => {
    const stand = new Stand();
    await stand.tick(TICKS.head - 1);
    await stand.send("\r\n");
    for (let i = 1; i < TICKS.head; i++) {
      await stand.send(get("/a")[i - 1] as string);
      await stand.tick(1);
    }
    expect(stand.wire.written).toBe("");
    await stand.tick(1);
    expect(stand.wire.written).toBe("HTTP/1.1 408 Problem\r\n\r\n");
    expect(stand.isOpen).toBe(false);
  });

  it("is 408 for a body, counted from the first byte of its head", async () => {
    const stand = new Stand();
    await stand.send(post("/a", 5).slice(0, 10));
    await stand.tick(5);
    await stand.send(post("/a", 5).slice(10));
    await stand.tick(TICKS.request - 6);
    expect(stand.events).toEqual([]);
    await stand.tick(1);
    expect(stand.events).toEqual(["broken 408", "over"]);
    expect(stand.wire.written).toMatch(/^HTTP\/1.1 408 /);
    expect(stand.isOpen).toBe(false);
  });

  it("is answered as a problem if no handler watches the exchange", async () => {
    const stand = new Stand();
    stand.isWatching = false;
    await stand.send(post("/a", 5));
    await stand.tick(TICKS.request);
    expect(stand.wire.written).toBe("HTTP/1.1 408 Problem\r\n\r\n");
    // A handler that answers now is late.
    expect(stand.exchanges[0]?.isGone).toBe(true);
  });

  it("breaks off a response that has begun, and ends a connection whose response is out", async () => {
    const begun = new Stand();
    await begun.send(post("/a", 5));
    begun.exchanges[0]?.begin(200, "OK", "", 5, false);
    await begun.tick(TICKS.request);
    expect(begun.wire.destroyed).toBe(true);
    expect(begun.events).toEqual(["closed", "over"]);
    const ended = new Stand();
    await ended.send(post("/a", 5));
    await ended.reply("whole");
    await ended.tick(TICKS.request);
    expect(ended.wire.written).toMatch(/whole$/);
    expect(ended.isOpen).toBe(false);
  });

  it("has no bound left once the body is there", async () => {
    const stand = new Stand();
    await stand.send(post("/a", 5, "abcde"));
    await stand.tick(1_000);
    expect(stand.events).toEqual([]);
    expect(stand.isOpen).toBe(true);
  });
});

describe("a body that can't be understood", () => {
  it("is reported once to the handler that watches its exchange, and nothing behind it is read", async () => {
    const stand = new Stand();
    const head = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    await stand.send(`${head}1\r\nx\r\n`);
    await stand.send(`zz\r\n${get("/hidden")}`);
    expect(stand.events).toEqual(["broken 400", "over"]);
    await stand.send(get("/hidden"));
    expect(stand.targets).toEqual(["/a"]);
    expect(stand.isOpen).toBe(false);
  });

  it("is never an exchange if it is seen with the head", async () => {
    const stand = new Stand();
    await stand.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz");
    expect(stand.targets).toEqual([]);
    expect(stand.wire.written).toBe("HTTP/1.1 400 Problem\r\n\r\n");
  });
});

describe("a connection that is closed after its answer", () => {
  it("is read from for a moment, so that the answer is not lost, and then ends", async () => {
    const stand = new Stand();
    await stand.send("HELLO\r\n\r\n");
    await stand.send("x".repeat(100_000));
    await stand.tick(TICKS.linger - 1);
    expect(stand.wire.destroyed).toBe(false);
    expect(stand.wire.readableLength).toBe(0);
    await stand.tick(1);
    expect(stand.wire.destroyed).toBe(true);
    expect(stand.wire.written).toBe("HTTP/1.1 400 Problem\r\n\r\n");
  });

  it("ends immediately when the client does, or resets", async () => {
    const ended = new Stand();
    await ended.send("HELLO\r\n\r\n");
    ended.wire.push(null);
    const reset = new Stand();
    await reset.send("HELLO\r\n\r\n");
    reset.wire.destroy(new Error("ECONNRESET"));
    await settle();
    for (const { events } of [ended, reset]) expect(events).toEqual(["closed"]);
  });
});

describe("a client that leaves", () => {
  it.each([
    ["before its head is whole", get("/a").slice(0, 10), ["closed"]],
    ["while it is answered", get("/a"), ["closed", "over"]],
    ["in the middle of its body", post("/a", 5, "ab"), ["closed", "over"]],
  ])("%s is reported once", async (_, text, events) => {
    for (const leave of ["end", "reset"]) {
      const stand = new Stand();
      await stand.send(text);
      if (leave === "end") stand.wire.push(null);
      else stand.wire.destroy(new Error("ECONNRESET"));
      await settle();
      expect(stand.events).toEqual(events);
      // An answer that comes now goes nowhere.
      stand.exchanges[0]?.reply(200, "", "late");
      await settle();
      expect(stand.wire.written).toBe("");
    }
  });

  it("is reported where a body is waited for", async () => {
    const stand = new Stand();
    await stand.send(post("/a", 5, "ab"));
    stand.exchanges[0]?.body?.whenHeld(10, (isWhole) => stand.events.push(`held ${isWhole}`));
    stand.wire.destroy();
    await settle();
    expect(stand.events).toEqual(["closed", "over", "held false"]);
  });
});
