// Takes turns on one SQLite file: one task writes at a time, and readers run side by side.

/** Turns on the file: tasks that have it alone, in their order, and between them those that go beside each other. */
export class Turns {
  /** Settles when the last of those that have it alone has had its turn. */
  #lastAlone: Promise<unknown> = Promise.resolve();
  /** Settles when everything has had its turn. */
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a task when everything before it has ended, and nothing beside it. */
  alone<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => {});
    this.#lastAlone = this.#last;
    return turn;
  }

  /** Runs a task when those before it that have the file alone have ended. */
  beside<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#lastAlone.then(task);
    const ended = turn.catch(() => {});
    const last = this.#last;
    this.#last = ended.then(() => last);
    return turn;
  }
}
