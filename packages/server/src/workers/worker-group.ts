// All workers of a primary: started together, and sent the same requests.

import { ServerError } from "../base/errors.js";
import { ASK_MS_MAX, END_MS_MAX, type ListenerAddress } from "./channel/control-messages.js";
import { SupervisedWorker, type SupervisedWorkerOptions } from "./supervised-worker.js";

/** The workers of a service. */
export class WorkerGroup {
  readonly #workers: readonly SupervisedWorker[];

  constructor(count: number, options: SupervisedWorkerOptions) {
    this.#workers = Array.from({ length: count }, () => new SupervisedWorker(options));
  }

  /** How many have their listeners open. */
  get openCount(): number {
    return this.#workers.filter(({ isOpen }) => isOpen).length;
  }

  /** Where listeners are open: the same for all workers. */
  get listeners(): readonly ListenerAddress[] {
    return this.#workers.find(({ isOpen }) => isOpen)?.listeners ?? [];
  }

  /** Starts all. If one can't start, ends the others and throws the reason. */
  async start(): Promise<void> {
    const results = await Promise.allSettled(this.#workers.map((worker) => worker.start()));
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) return;
    await this.end(END_MS_MAX);
    throw failed.reason;
  }

  /** Sends a request to all workers that are open. Returns the answers, and the errors of those without one. */
  async askAll(
    what: string,
    value: unknown,
    timeoutMs: number = ASK_MS_MAX,
  ): Promise<{ answers: unknown[]; errors: unknown[] }> {
    const open = this.#workers.filter(({ isOpen }) => isOpen);
    const results = await Promise.allSettled(
      open.map((worker) => worker.ask(what, value, timeoutMs)),
    );
    return {
      answers: results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])),
      errors: results.flatMap((each) => (each.status === "rejected" ? [each.reason] : [])),
    };
  }

  /** Sends a request to all workers that are open, and throws if one of them failed. */
  async runOnAll(what: string, value: unknown, timeoutMs?: number): Promise<void> {
    const { errors } = await this.askAll(what, value, timeoutMs);
    if (errors.length === 0) return;
    const seen = `${errors.length} of ${this.#workers.length}: ${(errors[0] as Error).message}`;
    throw new ServerError("SLUICE_WORKER_FAILED", seen, { cause: errors[0] });
  }

  /** From now on no worker is started again. */
  stopRestarting(): void {
    for (const worker of this.#workers) worker.stopRestarting();
  }

  /** Ends all, within `timeoutMs` at most. */
  async end(timeoutMs: number): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.end(timeoutMs)));
  }
}
