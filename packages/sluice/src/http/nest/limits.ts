// The doors of a NestJS application: one for the module's limit, and one for each place that has a
// limit of its own.

import { Policy } from "../../rules/policy.js";
import { memoryStore } from "../../stores/memory/store.js";
import type { Store } from "../../stores/store.js";
import type { Door } from "../door.js";
import { type HttpOptions, type RateLimitOptions, toDoor } from "../options.js";
import type { OwnLimit } from "./decorators.js";

/** What `RateLimitModule` is given: a policy, with HTTP options if at all, or the options of one limit. */
export type NestArguments = readonly [first: Policy | RateLimitOptions, second?: HttpOptions];

const SITE = { name: "RateLimitModule", code: "SLUICE_OPTION_INVALID" } as const;

/** All doors of an application. Injected into the guard. */
export class NestLimits {
  /** The module's own. */
  readonly door: Door;
  readonly #inherited: Partial<RateLimitOptions>;
  /** One for each decorator in the source. */
  readonly #doors = new Map<OwnLimit, Door>();
  #ownStore: Store | undefined;

  constructor([first, second]: NestArguments) {
    if (first instanceof Policy) {
      this.door = toDoor(SITE, first, second);
      this.#inherited = second ?? {};
    } else {
      const options = this.#withStore(first);
      this.door = toDoor(SITE, options, second);
      this.#inherited = options;
    }
  }

  /** The door of a place. */
  doorOf(own: OwnLimit | undefined): Door {
    if (own === undefined) return this.door;
    const known = this.#doors.get(own);
    if (known !== undefined) return known;
    const options = this.#withStore({ ...this.#inherited, name: own.name, ...own.options });
    const door = toDoor(SITE, options);
    this.#doors.set(own, door);
    return door;
  }

  /** Lets go of the policies that were made here, and of the store if it was. */
  async close(): Promise<void> {
    for (const door of [this.door, ...this.#doors.values()]) await door.close();
    await this.#ownStore?.close();
  }

  /** One table of counters serves all places, however many have a limit of their own. */
  #withStore(options: RateLimitOptions): RateLimitOptions {
    if (typeof options !== "object" || options.store !== undefined) return options;
    this.#ownStore ??= memoryStore();
    return { ...options, store: this.#ownStore };
  }
}
