// Asks the followers of a control node a question, and collects the answers. It waits for a bounded time and for
// a bounded number of them; who has not answered by then is named, so that a page can say what it does not cover.

import { after } from "../../base/clock.js";
import { randomId } from "../../base/random-id.js";
import type { NodeAnswer, NodeAsk, NodeQuestion } from "./node-question.js";

/** Followers that one question goes to. */
export const ASKED_MAX = 50;
/** Questions under way; further ones go to no follower. */
const QUESTIONS_MAX = 16;
const ID_BYTES = 12;

/** What the followers answered. */
export interface FleetAnswers {
  /** Followers that are connected. */
  readonly connected: number;
  /** By the names that they are listed by. */
  readonly answers: ReadonlyMap<string, NodeAnswer>;
  /** Those that were asked and have not answered. */
  readonly silent: readonly string[];
}

/** The followers, as questions need them. */
export interface AskedStreams {
  names(): ReadonlySet<string>;
  /** False if the follower can't be asked now. */
  askNode(name: string, ask: NodeAsk): boolean;
}

interface Pending {
  readonly answers: Map<string, NodeAnswer>;
  /** All that were asked and have not answered. */
  readonly asked: Set<string>;
  /** Those of them that are waited for. */
  readonly awaited: Set<string>;
  finish(): void;
}

/** Asks, and collects. */
export class FollowerQuestions {
  readonly #streams: AskedStreams;
  readonly #pending = new Map<string, Pending>();
  /** Those that did not answer the last time: they are asked again, and not waited for. */
  readonly #silent = new Set<string>();
  #turn = 0;

  constructor(streams: AskedStreams) {
    this.#streams = streams;
  }

  /** Resolves when all have answered, or the time is over. Never rejects. */
  async ask(question: NodeQuestion, waitMs: number): Promise<FleetAnswers> {
    const names = [...this.#streams.names()].sort();
    const connected = names.length;
    for (const name of this.#silent) if (!names.includes(name)) this.#silent.delete(name);
    const id = randomId(ID_BYTES);
    const chosen = this.#pending.size < QUESTIONS_MAX ? this.#inTurn(names) : [];
    if (chosen.length === 0) return { connected, answers: new Map(), silent: [] };
    const pending = this.#open(id, waitMs);
    for (const name of chosen) {
      pending.asked.add(name);
      const isAsked = this.#streams.askNode(name, { id, question });
      if (isAsked && !this.#silent.has(name)) pending.awaited.add(name);
    }
    if (pending.awaited.size > 0) await pending.done;
    this.#pending.delete(id);
    pending.finish();
    for (const name of pending.asked) this.#silent.add(name);
    return { connected, answers: pending.answers, silent: [...pending.asked] };
  }

  /** Takes an answer. @param name - The name that the follower is listed by. */
  take(name: string, answer: NodeAnswer): void {
    this.#silent.delete(name);
    const pending = this.#pending.get(answer.id);
    // Too late, or never asked.
    if (pending === undefined || !pending.asked.delete(name)) return;
    pending.answers.set(name, answer);
    pending.awaited.delete(name);
    if (pending.awaited.size === 0) pending.finish();
  }

  #open(id: string, waitMs: number): Pending & { readonly done: Promise<void> } {
    let finish = () => {};
    const done = new Promise<void>((resolve) => {
      const cancel = after(waitMs, resolve);
      finish = () => {
        cancel();
        resolve();
      };
    });
    const pending = {
      answers: new Map(),
      asked: new Set<string>(),
      awaited: new Set<string>(),
      finish: () => finish(),
      done,
    };
    this.#pending.set(id, pending);
    return pending;
  }

  /** Of more than fifty, others each time. */
  #inTurn(names: readonly string[]): string[] {
    if (names.length <= ASKED_MAX) return [...names];
    const begin = this.#turn % names.length;
    this.#turn = begin + ASKED_MAX;
    return [...names, ...names].slice(begin, begin + ASKED_MAX);
  }
}
