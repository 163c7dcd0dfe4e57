// The service: a core, and the doors that are configured, opened together and closed together.

import type { Config } from "../config/config.js";
import type { Core, OpenDoor } from "./core.js";
import { type CoreOptions, createCore, type OwnedCore } from "./create-core.js";

/** What a service may be given instead of making it. */
export type ServiceOptions = CoreOptions;

/** A running service. */
export interface Service {
  readonly core: Core;
  readonly doors: readonly OpenDoor[];
  /** Whether it takes requests: it is not draining, and has the store that readiness asks for. */
  isReady(): boolean;
  /** Reads the rules again, and what else can change while running. */
  reload(): Promise<void>;
  /** Lets requests under way end, `drainMs` at most, then closes. */
  drain(): Promise<void>;
  /** Closes at once. */
  close(): Promise<void>;
}

/** Opens a door of a core. */
type Opener = (core: Core) => Promise<OpenDoor>;

/**
 * Starts a service: all of its doors are open when it resolves, or none.
 *
 * @throws What is wrong with the rules, or the error of an address that can't be listened at.
 */
export async function startService(config: Config, options: ServiceOptions = {}): Promise<Service> {
  const core = createCore(config, options);
  const doors = await openDoors(core, openersOf(config));
  return new RunningService(core, doors);
}

class RunningService implements Service {
  readonly core: OwnedCore;
  readonly doors: readonly OpenDoor[];
  #isReady = true;

  constructor(core: OwnedCore, doors: readonly OpenDoor[]) {
    this.core = core;
    this.doors = doors;
  }

  isReady(): boolean {
    return this.#isReady;
  }

  async reload(): Promise<void> {}

  async drain(): Promise<void> {
    this.#isReady = false;
    await Promise.all(this.doors.map((door) => door.drain()));
    await this.close();
  }

  async close(): Promise<void> {
    this.#isReady = false;
    await Promise.all(this.doors.map((door) => door.close()));
    await this.core.close();
  }
}

function openersOf(_config: Config): readonly Opener[] {
  return [];
}

async function openDoors(core: OwnedCore, openers: readonly Opener[]): Promise<OpenDoor[]> {
  const results = await Promise.allSettled(openers.map((open) => open(core)));
  const doors = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = results.find((result) => result.status === "rejected");
  if (failed === undefined) return doors;
  await Promise.all(doors.map((door) => door.close()));
  await core.close();
  throw failed.reason;
}
