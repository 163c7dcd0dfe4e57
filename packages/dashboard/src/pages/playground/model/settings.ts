// What a user of the playground can choose: the traffic and the numbers of the limits.

/** The shapes of traffic. */
export const SHAPES = ["edge", "steady", "storm", "clients", "drawn", "log"] as const;

/** One of {@link SHAPES}. */
export type Shape = (typeof SHAPES)[number];

/** What clients do after a refusal: give up, retry soon, or wait as long as Retry-After says. */
export const RETRIES = ["none", "soon", "after"] as const;

/** One of {@link RETRIES}. */
export type Retry = (typeof RETRIES)[number];

/** Whether all clients share one counter, or each has its own. */
export const KEYINGS = ["shared", "client"] as const;

/** One of {@link KEYINGS}. */
export type Keying = (typeof KEYINGS)[number];

/** How many bars of traffic can be drawn. */
export const BARS = 48;
/** The most requests of a bar: one digit of base 36. */
export const BAR_MAX = 35;
/** How many windows a run lasts; one that was pasted lasts as long as its log. */
export const WINDOWS = 6;

/** The traffic and the numbers. */
export interface Settings {
  readonly shape: Shape;
  /** Units in a window, and permits of the concurrency limit. */
  readonly limit: number;
  readonly windowMs: number;
  /** The capacity of the token bucket. */
  readonly burst: number;
  /** How many may wait in the leaky bucket. */
  readonly queue: number;
  /** What each request costs, in units. */
  readonly cost: number;
  /** How long a request holds its permit. */
  readonly holdMs: number;
  /** Units in a calendar day. */
  readonly quota: number;
  /** The traffic in percent of the limit; drawn and pasted traffic is taken as it is. */
  readonly loadPercent: number;
  readonly keying: Keying;
  readonly retry: Retry;
  /** Requests in each bar of drawn traffic. */
  readonly bars: readonly number[];
}

/** A number that a slider chooses. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
}

/** The settings that are plain numbers, with their bounds. */
export const RANGES = {
  limit: { min: 1, max: 100 },
  burst: { min: 1, max: 200 },
  queue: { min: 0, max: 100 },
  cost: { min: 1, max: 10 },
  quota: { min: 1, max: 600 },
  loadPercent: { min: 10, max: 400 },
} satisfies Partial<Record<keyof Settings, NumberRange>>;

/** The settings that are plain numbers. */
export type RangeName = keyof typeof RANGES;

/** Lengths to choose from; as windows all of them divide a day, so that edges of windows fall on midnight. */
const LENGTHS = {
  "100ms": 100,
  "250ms": 250,
  "500ms": 500,
  "1s": 1_000,
  "2s": 2_000,
  "5s": 5_000,
  "10s": 10_000,
  "30s": 30_000,
  "1m": 60_000,
  "5m": 300_000,
  "15m": 900_000,
  "1h": 3_600_000,
} as const;

/** A length as it is written in URLs and rules. */
export type LengthName = keyof typeof LENGTHS;

const NAMES = Object.keys(LENGTHS) as readonly LengthName[];

/** The lengths that a window can have. */
export const WINDOW_NAMES: readonly LengthName[] = NAMES.slice(NAMES.indexOf("1s"));
/** The lengths of time for which a permit can be held. */
export const HOLD_NAMES: readonly LengthName[] = NAMES.slice(0, NAMES.indexOf("5m"));

/** The milliseconds of a length. */
export function lengthOf(name: LengthName): number {
  return LENGTHS[name];
}

/** `1m` for 60,000. Undefined if it is not one of the lengths. */
export function nameOfLength(ms: number): LengthName | undefined {
  return NAMES.find((name) => LENGTHS[name] === ms);
}

/** How traffic looks before a user draws: two hills, one of them steep. */
const FIRST_BARS: readonly number[] = Array.from({ length: BARS }, (_, at) => {
  const hill = (top: number, width: number, height: number) =>
    height * Math.exp(-(((at - top) / width) ** 2));
  return Math.round(hill(14, 4, 7) + hill(32, 1.5, 24));
});

/** What the page shows first. */
export const DEFAULTS: Settings = {
  shape: "edge",
  limit: 10,
  windowMs: LENGTHS["1m"],
  burst: 10,
  queue: 10,
  cost: 1,
  holdMs: LENGTHS["2s"],
  quota: 30,
  loadPercent: 150,
  keying: "shared",
  retry: "none",
  bars: FIRST_BARS,
};

/** The settings with another shape, and with what shows that shape best. */
export function withShape(settings: Settings, shape: Shape): Settings {
  return {
    ...settings,
    shape,
    retry: shape === "storm" ? "soon" : "none",
    keying: shape === "clients" ? "client" : "shared",
  };
}

/** How long a client waits before it retries soon. */
export function retrySoonMs({ windowMs }: Pick<Settings, "windowMs">): number {
  return Math.max(50, windowMs / 8);
}
