// Our parser beside Node's, on the same bytes: whatever Node refuses, we refuse, and whatever we take, Node
// takes for the same request. A failure names its seed, which makes the same bytes again.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { readRequestTarget } from "../src/request/request-target.js";
import type { Exchange } from "../src/server/exchange.js";
import { drawFrom, RequestMill } from "./request-mill.js";
import { serve, settle, Wire } from "./wire.js";

const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 1);
const STREAMS = Number(process.env.SLUICE_FUZZ_STREAMS ?? 12_000);
/** Streams that are looked at together, so that not each waits for its own turn of the event loop. */
const BATCH = 250;

/** A request as a parser saw it. */
interface Seen {
  readonly method: string;
  readonly target: string;
  readonly raw: readonly string[];
  body: string;
  /** Whether its last byte was there. */
  isWhole(): boolean;
}

/** What became of one connection. */
interface Outcome {
  readonly seen: Seen[];
  isRefused: boolean;
  /** The last request said that it was the last. */
  isClosed: boolean;
}

/** A connection that remembers what became of it. */
class TriedWire extends Wire {
  readonly outcome: Outcome = { seen: [], isRefused: false, isClosed: false };
}

const node = createServer({ requireHostHeader: false, keepAliveTimeout: 0 });
node.on("request", onNodeRequest).on("checkContinue", onNodeRequest);
node.on("checkExpectation", onNodeRequest);
// Node drops what is sent right behind an upgrade that is ignored: there is nothing to compare it with.
node.on("connect", onNodeSwitch).on("upgrade", onNodeSwitch);
node.on("clientError", (_, wire) => {
  (wire as TriedWire).outcome.isRefused = true;
});

function onNodeSwitch(request: IncomingMessage, { outcome }: TriedWire): void {
  outcome.seen.push({ ...toSeen(request), isWhole: () => true });
  outcome.isClosed = true;
}

function onNodeRequest(request: IncomingMessage, response: ServerResponse): void {
  const { outcome } = request.socket as unknown as TriedWire;
  const seen = toSeen(request);
  outcome.seen.push(seen);
  request.setEncoding("latin1").on("data", (piece: string) => {
    seen.body += piece;
  });
  request.on("error", () => {});
  // Else Node closes the connection of a client that waits for it.
  if (request.headers.expect !== undefined) response.writeContinue();
  response.end();
}

function toSeen(request: IncomingMessage): Seen {
  const { method = "", url: target = "", rawHeaders: raw } = request;
  return { method, target, raw, body: "", isWhole: () => request.complete };
}

/** Our own, as the gateway has it. */
function takeOurs(wire: TriedWire): void {
  const refuse = () => {
    wire.outcome.isRefused = true;
    return "";
  };
  serve(wire, {
    toRefusal: refuse,
    onExchange: (exchange) => onExchange(exchange, wire.outcome, refuse),
  });
}

/** Every third answer comes late, so that what follows has to wait. */
function onExchange(exchange: Exchange, outcome: Outcome, refuse: () => void): void {
  const { method, target, fields, body } = exchange;
  if (readRequestTarget(target, method, fields.host) === undefined) {
    refuse();
    exchange.closes = true;
    exchange.reply(400, "", "");
    return;
  }
  const isWhole = () => body?.isComplete !== false;
  const seen = { method, target, raw: fields.raw, body: "", isWhole };
  outcome.seen.push(seen);
  const answer = () => {
    outcome.isClosed = exchange.closes;
    if (outcome.seen.length % 3 === 0) setImmediate(() => exchange.reply(200, "", ""));
    else exchange.reply(200, "", "");
  };
  if (body === undefined) answer();
  else {
    const onPiece = (piece: Buffer) => {
      seen.body += piece.toString("latin1");
    };
    body.readTo({ onPiece, onBodyEnd: answer });
  }
}

/** What both make of the same bytes. */
interface Pair {
  readonly pieces: readonly string[];
  readonly ours: TriedWire;
  readonly theirs: TriedWire;
}

function start(mill: RequestMill, i: number): Pair {
  const text = `${mill.stream()}GET /last-${i} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const pieces = mill.pieces(text);
  const [ours, theirs] = [new TriedWire(), new TriedWire()];
  takeOurs(ours);
  node.emit("connection", theirs);
  for (const piece of pieces) {
    ours.arrive(piece);
    theirs.arrive(piece);
  }
  return { pieces, ours, theirs };
}

/** What is wrong; undefined if nothing is. */
function compare({ ours: { outcome: ours }, theirs: { outcome: theirs } }: Pair) {
  const [taken, nodes] = [wholes(ours), wholes(theirs)];
  for (const [i, seen] of taken.entries()) {
    if (theirs.isClosed && i >= nodes.length - 1) return compareHeads(seen, nodes[i]);
    const [mine, other] = [shown(seen), shown(nodes[i])];
    if (mine !== other) return `request ${i} is ${mine}, for Node ${other}`;
  }
  if (ours.isRefused || ours.isClosed || theirs.isClosed) return undefined;
  if (theirs.isRefused) return "Node refuses what we don't";
  return taken.length < nodes.length ? "we wait for more where Node does not" : undefined;
}

/** Of the last request before a switch: Node takes its body for what comes after. */
function compareHeads(mine: Seen, other: Seen | undefined): string | undefined {
  if (other === undefined) return undefined;
  const [ours, theirs] = [shown({ ...mine, body: "" }), shown({ ...other, body: "" })];
  return ours === theirs ? undefined : `the last request is ${ours}, for Node ${theirs}`;
}

/** With all but ASCII escaped. */
function shown(what: unknown): string {
  const toEscape = (c: string) => `\\x${c.charCodeAt(0).toString(16)}`;
  return `${JSON.stringify(what)}`.replace(/[\x7f-\xff]/g, toEscape);
}

function wholes({ seen }: Outcome): Seen[] {
  return seen.filter((one) => one.isWhole());
}

describe(`${STREAMS} streams of requests, of seed ${SEED}`, () => {
  it("are taken as Node takes them, or refused", async () => {
    const mill = new RequestMill(drawFrom(SEED));
    const counts = { taken: 0, refusedByBoth: 0, refusedByUs: 0 };
    for (let from = 0; from < STREAMS; from += BATCH) {
      const pairs = Array.from({ length: BATCH }, (_, i) => start(mill, from + i));
      await settle();
      for (const pair of pairs) {
        const wrong = compare(pair);
        if (wrong !== undefined) expect.fail(`seed ${SEED}: ${wrong}\nin ${shown(pair.pieces)}`);
        const { ours, theirs } = pair;
        counts.taken += wholes(ours.outcome).length;
        if (ours.outcome.isRefused) {
          counts[theirs.outcome.isRefused ? "refusedByBoth" : "refusedByUs"]++;
        }
        ours.destroy();
        theirs.destroy();
      }
    }
    // Else it would prove little.
    expect(counts.taken).toBeGreaterThan(STREAMS / 2);
    expect(counts.refusedByBoth).toBeGreaterThan(STREAMS / 5);
    expect(counts.refusedByUs).toBeLessThan(STREAMS / 10);
  });
});
