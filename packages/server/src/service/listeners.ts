// The doors of a service as one: opened together, drained within a bound, closed together.

import { after } from "../base/clock.js";
import type { Core, OpenDoor } from "../core/core.js";

/** How long the last answers of the admin port may take. */
const ADMIN_DRAIN_MS_MAX = 1_000;

/** Opens a door of a core. */
export type DoorOpener = (core: Core) => Promise<OpenDoor>;

/** Opens all doors or none: if one can't be opened those that were are closed, and its error is thrown. */
export async function openDoors(core: Core, openers: readonly DoorOpener[]): Promise<OpenDoor[]> {
  const results = await Promise.allSettled(openers.map((open) => open(core)));
  const doors = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = results.find((result) => result.status === "rejected");
  if (failed === undefined) return doors;
  await closeDoors(doors);
  throw failed.reason;
}

/** Tells those who ask after the health of these doors to go elsewhere; they serve as before. */
export async function announceDrain(doors: readonly OpenDoor[]): Promise<void> {
  await Promise.all(doors.map((door) => door.announceDrain?.()));
}

/** Takes no further connections at any of these doors. */
export function stopListening(doors: readonly OpenDoor[]): void {
  for (const door of doors) door.stopListening();
}

/**
 * Lets requests under way end. Returns the names of doors that had not drained within `drainMs`, or that
 * failed to: something may be cut off when they are closed.
 */
export async function drainDoors(
  doors: readonly OpenDoor[],
  drainMs: number,
): Promise<readonly string[]> {
  const open = new Set(doors.map(({ name }) => name));
  // A door that fails is closed with the others, and must not cut their wait short.
  const drained = Promise.allSettled(
    doors.map(async (door) => {
      await door.drain();
      open.delete(door.name);
    }),
  );
  await within(drainMs, drained);
  return [...open];
}

/**
 * Drains the doors that serve requests within `drainMs`, and then, when `others` have drained too, the admin
 * port: it tells meanwhile that readiness fails. Returns what {@link drainDoors} does of those that serve.
 */
export async function drainAll(
  doors: readonly OpenDoor[],
  drainMs: number,
  others: Promise<readonly string[]> = Promise.resolve([]),
): Promise<readonly string[]> {
  const isAdmin = ({ name }: OpenDoor) => name === "admin";
  const serving = doors.filter((door) => !isAdmin(door));
  const late = await Promise.all([others, drainDoors(serving, drainMs)]);
  await drainDoors(doors.filter(isAdmin), ADMIN_DRAIN_MS_MAX);
  return late.flat();
}

/** Closes all doors, each whatever becomes of the others. */
export async function closeDoors(doors: readonly OpenDoor[]): Promise<void> {
  await Promise.allSettled(doors.map((door) => door.close()));
}

/** Resolves when `task` has, or after `ms`. */
async function within(ms: number, task: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = after(ms, resolve);
    task.finally(() => {
      cancel();
      resolve();
    });
  });
}
