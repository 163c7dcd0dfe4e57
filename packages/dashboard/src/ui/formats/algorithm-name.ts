// The names of algorithms, for people.

const NAMES: Readonly<Record<string, string>> = {
  fixedWindow: "fixed window",
  slidingWindowLog: "sliding window log",
  slidingWindowCounter: "sliding window counter",
  tokenBucket: "token bucket",
  leakyBucket: "leaky bucket",
  concurrency: "concurrency",
  quota: "calendar quota",
  sketch: "sketch",
};

/** `tokenBucket` as `token bucket`; one that is not known here as it is. */
export function algorithmName(algorithm: string): string {
  return NAMES[algorithm] ?? algorithm;
}
