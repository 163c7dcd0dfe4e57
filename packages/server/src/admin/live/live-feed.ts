// The live stream: one event a second for any number of open pages, made once for all that show the same. The timer
// runs, and followers are asked, only while a page is open. Nothing waits for a page: one that does not read is dropped,
// and its browser connects again.

import type { ServerResponse } from "node:http";
import { every } from "../../base/clock.js";
import { ServerError, show } from "../../base/errors.js";
import { Fleet } from "./fleet.js";
import { type LiveView, LiveViews } from "./live-view.js";
import { NodeReader, type NodeSources } from "./node/node-reader.js";
import { OtherNodes } from "./other-nodes.js";

/** Between two events. */
const TICK_MS = 1_000;
/** Pages that are open; the one that was opened first makes room. Half of the connections that the port takes. */
const PAGES_MAX = 256;
/** Bytes that a page may leave unread: some seconds. Events with all rules are larger. */
const UNREAD_BYTES_MAX = 65_536;
const ALL_RULES_UNREAD_BYTES_MAX = 262_144;

/** An open page. */
export interface LivePage extends LiveView {
  readonly response: ServerResponse;
  /** Whether its caller still may see it: the session has not ended, the token was not revoked. */
  isAuthorized(): boolean;
}

/** What the feed is made with. */
export interface LiveFeedOptions extends NodeSources {
  /** Default: the system's. */
  readonly every?: (everyMs: number, task: () => void) => () => void;
}

/** Sends pages what happens. */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #reader: NodeReader;
  readonly #fleet: Fleet;
  readonly #others: OtherNodes;
  readonly #views: LiveViews;
  /** Each with the nodes that had not reported their last minutes when it was sent the beginning. */
  readonly #pages = new Map<LivePage, { pastMissing: number }>();
  /** The first reading, with which all others are compared. */
  #starting: Promise<void> | undefined;
  #stop: (() => void) | undefined;
  #isBusy = false;
  #isClosed = false;
  /** Events that were made since the start: one for each second and view. */
  made = 0;

  constructor(options: LiveFeedOptions) {
    const { core, control } = options;
    this.#options = options;
    this.#reader = new NodeReader(options);
    this.#fleet = new Fleet(control.feed);
    this.#others = new OtherNodes(control);
    this.#views = new LiveViews({
      control,
      reader: this.#reader,
      fleet: this.#fleet,
      others: this.#others,
      hashKey: (key) => core.telemetry.samples.hashKey(key),
    });
  }

  /** Pages that are open. */
  get count(): number {
    return this.#pages.size;
  }

  /** @throws ServerError `SLUICE_NOT_FOUND` if no node of this name is known here. */
  mustKnow(node: string): void {
    if (this.#views.has(node)) return;
    const how = "GET /v1/nodes lists the nodes. Leave out ?node= to see the whole fleet";
    throw new ServerError("SLUICE_NOT_FOUND", `no node ${show(node)} is connected here; ${how}`);
  }

  /** Sends a page what came before, and what comes from now on, until it closes or is no longer admitted. */
  async add(page: LivePage): Promise<void> {
    const { response } = page;
    response.on("close", () => this.#remove(page));
    // A page that can't be sent to is closed, which is all there is to know.
    response.on("error", () => {});
    this.#starting ??= this.#start(page);
    await this.#starting;
    const state = { pastMissing: this.#views.pastMissing(page) };
    const begin = await this.#views.toBegin(page);
    if (this.#isClosed) response.end();
    if (this.#isClosed || response.destroyed) {
      this.#remove(page);
      return;
    }
    const [oldest] = this.#pages.keys();
    if (this.#pages.size >= PAGES_MAX && oldest !== undefined) oldest.response.destroy();
    write(page, toEvent("begin", begin));
    this.#pages.set(page, state);
    this.#stop ??= (this.#options.every ?? every)(TICK_MS, () => void this.tick());
  }

  /** Makes the event of the last second and sends it. Never rejects. */
  async tick(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      await this.#send();
    } catch (error) {
      this.#options.core.telemetry.problem("the live stream failed", error);
    } finally {
      this.#isBusy = false;
    }
  }

  /** Ends all pages, and those that come later. */
  close(): void {
    this.#isClosed = true;
    for (const { response } of this.#pages.keys()) response.end();
    for (const page of [...this.#pages.keys()]) this.#remove(page);
  }

  async #start(page: LiveView): Promise<void> {
    const picked = new Set(page.node === undefined ? [] : [page.node]);
    await Promise.all([this.#reader.read(), this.#fleet.ask(picked)]);
  }

  async #send(): Promise<void> {
    this.#drop();
    if (this.#pages.size === 0) return;
    const picked = new Set([...this.#pages.keys()].flatMap(({ node }) => node ?? []));
    // Nothing waits for the database.
    void this.#others.look();
    const [own] = await Promise.all([this.#reader.read(), this.#fleet.ask(picked)]);
    // All pages were closed meanwhile, and one was opened.
    if (own.second.spanMs === 0) return;
    for (const pages of this.#pagesByView()) {
      await this.#beginAgain(pages);
      const event = toEvent("tick", this.#views.toTick(pages[0], own));
      this.made++;
      for (const page of pages) write(page, event);
    }
    this.#fleet.markShown();
  }

  /** Ends pages that are no longer admitted, and drops those that don't read. */
  #drop(): void {
    for (const page of [...this.#pages.keys()]) {
      // The page reads that the stream has ended, and asks for a login.
      if (!page.isAuthorized()) page.response.end();
      else if (isSlow(page)) page.response.destroy();
      else continue;
      this.#remove(page);
    }
  }

  #pagesByView(): LivePage[][] {
    const byView = new Map<string, LivePage[]>();
    for (const page of this.#pages.keys()) {
      const view = JSON.stringify([page.node, page.showsKeys, page.hasAllRules]);
      const pages = byView.get(view);
      if (pages === undefined) byView.set(view, [page]);
      else pages.push(page);
    }
    return [...byView.values()];
  }

  /** Sends pages of one view the beginning again, if nodes have reported their last minutes since. */
  async #beginAgain(pages: readonly LivePage[]): Promise<void> {
    const [view] = pages;
    const pastMissing = this.#views.pastMissing(view);
    let event: string | undefined;
    for (const page of pages) {
      const state = this.#pages.get(page);
      if (state === undefined || state.pastMissing <= pastMissing) continue;
      state.pastMissing = pastMissing;
      event ??= toEvent("begin", await this.#views.toBegin(view));
      write(page, event);
    }
  }

  #remove(page: LivePage): void {
    this.#pages.delete(page);
    if (this.#pages.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
    this.#starting = undefined;
    this.#reader.forget();
    this.#fleet.forget();
  }
}

function isSlow({ response, hasAllRules }: LivePage): boolean {
  const unreadMax = hasAllRules ? ALL_RULES_UNREAD_BYTES_MAX : UNREAD_BYTES_MAX;
  return response.writableLength > unreadMax;
}

function toEvent(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}

function write({ response }: LivePage, event: string): void {
  if (!response.destroyed && !response.writableEnded) response.write(event);
}
