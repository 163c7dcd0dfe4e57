// How important a request is when not all can be served. Each priority may fill a share of the limit, the least
// important the smallest, so that whatever lesser requests do, more important ones still find room.

/** From the most to the least important. */
export const PRIORITIES = ["critical", "high", "normal", "low"] as const;

/** How important a request is. */
export type Priority = (typeof PRIORITIES)[number];

/** For each priority, the share of the limit that may be in flight before a request of that priority is shed. */
export type PriorityShares = Readonly<Record<Priority, number>>;

/** The shares by default. `critical` always has the whole limit. */
export const DEFAULT_SHARES: PriorityShares = { critical: 1, high: 0.9, normal: 0.8, low: 0.5 };

/** For each priority, how many requests may be in flight before one of that priority is shed. */
export type Rooms = Readonly<Record<Priority, number>>;

/** The rooms of a limit: each share rounded down, and at least one place. */
export function toRooms(limit: number, shares: PriorityShares): Rooms {
  const roomOf = (priority: Priority) => Math.max(1, Math.floor(limit * shares[priority]));
  return {
    critical: roomOf("critical"),
    high: roomOf("high"),
    normal: roomOf("normal"),
    low: roomOf("low"),
  };
}

/** Whether a value is the name of a priority. */
export function isPriority(value: unknown): value is Priority {
  return PRIORITIES.some((priority) => priority === value);
}
