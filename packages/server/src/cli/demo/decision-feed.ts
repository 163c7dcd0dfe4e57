// Decisions, shown as they are made: each of the first 50, then one line a second while there are any. A
// flood of requests must not become a flood of lines. Traffic that the demo makes itself gets a line in ten seconds.

import type { Facts, PolicyDecision } from "sluice/rules";
import type { Colours } from "../text/colours.js";
import { formatLiveDecision, formatSummary } from "./demo-text.js";

/** This many decisions get a line of their own. */
const LINES_MAX = 50;
/** Between two summaries. */
const SUMMARY_EVERY_MS = 1_000;

/** Summaries between two of the demo's own traffic. */
const OWN_EVERY = 10;

/** What the feed needs. */
export interface FeedOptions {
  readonly colours: Colours;
  writeLine(line: string): void;
  /** Runs a task every this many milliseconds; returns how to stop it. */
  every(everyMs: number, task: () => void): () => void;
}

/** Shows decisions. */
export class DecisionFeed {
  readonly #options: FeedOptions;
  readonly #stop: () => void;
  #shown = 0;
  #allowed = 0;
  #refused = 0;
  #own = { allowed: 0, refused: 0 };
  #summaries = 0;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#stop = options.every(SUMMARY_EVERY_MS, () => this.#summarise());
  }

  /** Takes a decision, made by these facts. */
  add(decision: PolicyDecision, facts: Facts): void {
    if (this.#shown < LINES_MAX) {
      this.#shown++;
      this.#options.writeLine(formatLiveDecision(decision, facts, this.#options.colours));
      return;
    }
    if (decision.allowed) this.#allowed++;
    else this.#refused++;
  }

  /** Counts a decision about the demo's own traffic. */
  addOwn({ allowed }: PolicyDecision): void {
    if (allowed) this.#own.allowed++;
    else this.#own.refused++;
  }

  /** Prints what is left to print, and ends. */
  close(): void {
    this.#stop();
    this.#summarise();
  }

  #summarise(): void {
    if (++this.#summaries % OWN_EVERY === 0) this.#summariseOwn();
    const counts = { allowed: this.#allowed, refused: this.#refused };
    if (counts.allowed + counts.refused === 0) return;
    this.#allowed = 0;
    this.#refused = 0;
    this.#options.writeLine(formatSummary(counts, this.#options.colours));
  }

  #summariseOwn(): void {
    const own = this.#own;
    if (own.allowed + own.refused === 0) return;
    this.#own = { allowed: 0, refused: 0 };
    const { colours, writeLine } = this.#options;
    writeLine(`${colours.faint("demo traffic:")} ${formatSummary(own, colours)}`);
  }
}
