// All workers of a primary: started together, told the same, asked together.

import { ServerError } from "../base/errors.js";
import { ASK_MS_MAX, END_MS_MAX, type ListenerReport } from "./control-messages.js";
import { Slot, type SlotOptions } from "./worker-slot.js";

/** The workers of a service. */
export class Crew {
  readonly #slots: readonly Slot[];

  constructor(count: number, options: SlotOptions) {
    this.#slots = Array.from({ length: count }, () => new Slot(options));
  }

  /** How many have their listeners open. */
  get openCount(): number {
    return this.#slots.filter(({ isOpen }) => isOpen).length;
  }

  /** Where listeners are open: the same for all workers. */
  get listeners(): readonly ListenerReport[] {
    return this.#slots.find(({ isOpen }) => isOpen)?.listeners ?? [];
  }

  /** Starts all; if one can't start, ends all others and throws why. */
  async start(): Promise<void> {
    const results = await Promise.allSettled(this.#slots.map((slot) => slot.start()));
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) return;
    await this.end(END_MS_MAX);
    throw failed.reason;
  }

  /** Asks all that are open; returns the answers, and the errors of those that gave none. */
  async ask(
    what: string,
    value: unknown,
    timeoutMs: number = ASK_MS_MAX,
  ): Promise<{ answers: unknown[]; errors: unknown[] }> {
    const open = this.#slots.filter(({ isOpen }) => isOpen);
    const results = await Promise.allSettled(open.map((slot) => slot.ask(what, value, timeoutMs)));
    return {
      answers: results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])),
      errors: results.flatMap((each) => (each.status === "rejected" ? [each.reason] : [])),
    };
  }

  /** Asks all, and throws if one did not do it. */
  async tell(what: string, value: unknown, timeoutMs?: number): Promise<void> {
    const { errors } = await this.ask(what, value, timeoutMs);
    if (errors.length === 0) return;
    const seen = `${errors.length} of ${this.#slots.length}: ${(errors[0] as Error).message}`;
    throw new ServerError("SLUICE_WORKER_FAILED", seen, { cause: errors[0] });
  }

  /** From now on no worker is started again. */
  letGo(): void {
    for (const slot of this.#slots) slot.letGo();
  }

  /** Ends all, within `timeoutMs` at most. */
  async end(timeoutMs: number): Promise<void> {
    await Promise.all(this.#slots.map((slot) => slot.end(timeoutMs)));
  }
}
