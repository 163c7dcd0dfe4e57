// The live stream: one event a second for any number of open pages, made once. The timer runs only while a page is open.
// Nothing waits for a page: one that does not read is dropped, and its browser connects again.

import type { ServerResponse } from "node:http";
import { every, wallMs } from "../../base/clock.js";
import type { Core } from "../../core/core.js";
import {
  type LiveCounts,
  type LiveSecond,
  sizeOf,
  subtractOutcomes,
} from "../../telemetry/live/live-counts.js";
import { HISTORY_SECONDS_MAX } from "../../telemetry/live/second-history.js";
import type { AdminControl } from "../service-control.js";
import {
  type LiveBegin,
  type LiveTick,
  toLatency,
  toLiveKeys,
  toLiveRefusal,
  toRuleTicks,
} from "./live-event.js";
import { toNotices } from "./notices.js";

/** Between two events. */
const TICK_MS = 1_000;
/** Pages that are open; the one that was opened first makes room. Half of the connections that the port takes. */
const PAGES_MAX = 256;
/** Bytes that a page may leave unread: some seconds. */
const UNREAD_BYTES_MAX = 65_536;
/** Refusals in one event, and in the first one. */
const REFUSALS_MAX = 10;
const FIRST_REFUSALS = 20;

/** An open page. */
export interface LivePage {
  readonly response: ServerResponse;
  /** Whether it is sent keys in clear. */
  readonly showsKeys: boolean;
  /** Whether its caller still may see it: the session has not ended, the token was not revoked. */
  isAdmitted(): boolean;
}

/** What the feed is made with. */
export interface LiveFeedOptions {
  readonly core: Core;
  readonly control: AdminControl;
  /** Default: the system's. */
  readonly every?: (everyMs: number, task: () => void) => () => void;
}

/** Sends pages what happens. */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #pages = new Set<LivePage>();
  #stop: (() => void) | undefined;
  #before: { readonly counts: LiveCounts; readonly atMs: number } | undefined;
  #seconds: LiveSecond[] = [];
  #isBusy = false;
  #isClosed = false;
  /** Events that were made since the start: one for each second and way to show keys. */
  made = 0;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  /** Pages that are open. */
  get count(): number {
    return this.#pages.size;
  }

  /** Sends a page what came before, and what comes from now on, until it closes or is no longer admitted. */
  async add(page: LivePage): Promise<void> {
    const { response } = page;
    response.on("close", () => this.#remove(page));
    // A page that can't be sent to is closed, which is all there is to know.
    response.on("error", () => {});
    const begin = await this.#toBegin(page.showsKeys);
    if (this.#isClosed) response.end();
    if (this.#isClosed || response.destroyed) return;
    const [oldest] = this.#pages;
    if (this.#pages.size >= PAGES_MAX && oldest !== undefined) oldest.response.destroy();
    write(page, toEvent("begin", begin));
    this.#pages.add(page);
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
    for (const { response } of this.#pages) response.end();
    for (const page of [...this.#pages]) this.#remove(page);
  }

  async #send(): Promise<void> {
    for (const page of [...this.#pages]) {
      // The page reads that the stream has ended, and asks for a login.
      if (!page.isAdmitted()) page.response.end();
      else if (page.response.writableLength > UNREAD_BYTES_MAX) page.response.destroy();
      else continue;
      this.#remove(page);
    }
    if (this.#pages.size === 0) return;
    const before = this.#before;
    const now = { counts: await this.#readCounts(), atMs: wallMs() };
    this.#before = now;
    if (before === undefined) return;
    for (const showsKeys of [false, true]) {
      const pages = [...this.#pages].filter((page) => page.showsKeys === showsKeys);
      if (pages.length === 0) continue;
      const event = toEvent("tick", await this.#toTick(before, now, showsKeys));
      for (const page of pages) write(page, event);
    }
  }

  async #toBegin(showsKeys: boolean): Promise<LiveBegin> {
    const { control, core } = this.#options;
    const isFirst = this.#pages.size === 0;
    const seconds = await (control.liveSeconds?.() ?? core.telemetry.liveSeconds());
    if (isFirst) {
      this.#seconds = [...seconds];
      this.#before = { counts: await this.#readCounts(), atMs: wallMs() };
    }
    const refusals = await this.#refusalsSince(0, showsKeys, FIRST_REFUSALS);
    return { seconds, refusals };
  }

  async #toTick(
    before: { readonly counts: LiveCounts; readonly atMs: number },
    { counts }: { readonly counts: LiveCounts },
    showsKeys: boolean,
  ): Promise<LiveTick> {
    this.made++;
    const { control, core } = this.#options;
    const { policy, telemetry, config } = core;
    const outcomes = subtractOutcomes(counts.totals, before.counts.totals);
    const { atMs } = before;
    this.#remember({ atMs, ...outcomes });
    const onFailure = config.store?.onStoreFailure ?? "local";
    const top = await (control.top?.({ showsKeys }) ?? telemetry.top({ showsKeys }));
    return {
      atMs,
      version: policy.version,
      ...outcomes,
      latency: toLatency(counts.latency, before.counts.latency),
      rules: toRuleTicks(counts, before.counts),
      rulesInForce: policy.rules.rules.length,
      hottest: toLiveKeys(top, this.#decisionsIn(top.seconds)),
      refusals: await this.#refusalsSince(atMs, showsKeys, REFUSALS_MAX),
      store: {
        kind: config.store?.kind ?? "memory",
        isFallback: counts.degraded.store,
        onFailure,
      },
      notices: toNotices({
        degraded: counts.degraded,
        reasons: control.isReady().reasons,
        policy,
        onFailure,
      }),
    };
  }

  async #refusalsSince(sinceMs: number, showsKeys: boolean, limit: number) {
    const { control, core } = this.#options;
    const query = { outcome: "blocked", limit, showsKeys } as const;
    const found = await (control.latestSamples?.(query) ?? core.telemetry.samples.latest(query));
    // One of the very millisecond in which the last event was made may be left out; none is sent twice.
    return found.filter(({ atMs }) => atMs > sinceMs).map(toLiveRefusal);
  }

  /** Decisions in the last seconds. */
  #decisionsIn(seconds: number): number {
    const fromMs = wallMs() - seconds * TICK_MS - TICK_MS / 2;
    return this.#seconds.reduce(
      (sum, second) => (second.atMs >= fromMs ? sum + sizeOf(second) : sum),
      0,
    );
  }

  #remember(second: LiveSecond): void {
    if (this.#seconds.at(-1)?.atMs === second.atMs) return;
    this.#seconds.push(second);
    if (this.#seconds.length > HISTORY_SECONDS_MAX) this.#seconds.shift();
  }

  async #readCounts(): Promise<LiveCounts> {
    const { control, core } = this.#options;
    return control.liveCounts?.() ?? core.telemetry.liveCounts();
  }

  #remove(page: LivePage): void {
    this.#pages.delete(page);
    if (this.#pages.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
    this.#before = undefined;
  }
}

function toEvent(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}

function write({ response }: LivePage, event: string): void {
  if (!response.destroyed && !response.writableEnded) response.write(event);
}
