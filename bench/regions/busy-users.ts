// Users who ask one policy as fast as it answers, in slices of time, so that two policies can be measured in turns and
// neither is idle for longer than a slice: leases return and demand is forgotten where nothing is asked for.

import type { Policy } from "sluice/rules";

/** Decisions of one user without letting others have their turn. */
const TURN = 100;

/** Some users of a policy, each of whom sends one request after the other. */
export class BusyUsers {
  readonly #policy: Policy;
  readonly #names: readonly string[];
  /** Users who wait for the next slice. */
  #resting: (() => void)[] = [];
  #isOn = false;
  #decided = 0;

  constructor(policy: Policy, count: number) {
    this.#policy = policy;
    this.#names = Array.from({ length: count }, (_, i) => `user-${i}`);
    for (const name of this.#names) void this.#ask(name);
  }

  /** Lets them ask for a while. Returns how many decisions they had, and in what time; those still awaited count in the next. */
  async run(spanMs: number): Promise<{ readonly decided: number; readonly tookMs: number }> {
    const before = this.#decided;
    const startMs = performance.now();
    this.#isOn = true;
    for (const goOn of this.#resting.splice(0)) goOn();
    while (performance.now() - startMs < spanMs) await turn();
    this.#isOn = false;
    return { decided: this.#decided - before, tookMs: performance.now() - startMs };
  }

  async #ask(user: string): Promise<never> {
    for (let asked = 1; ; asked++) {
      if (!this.#isOn) await new Promise<void>((goOn) => this.#resting.push(goOn));
      const answer = this.#policy.admit({ method: "GET", path: "/", user });
      if (answer instanceof Promise) await answer;
      this.#decided++;
      // In process decisions come immediately; the answers of stores need their turn.
      if (asked % TURN === 0) await turn();
    }
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
