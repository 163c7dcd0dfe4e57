// A cost that is known only afterwards, such as the tokens of a language model: reserve the most that a request can
// cost, commit its real cost, and cancel if it failed. Parallel requests can't exceed the limit together, because
// each holds its reservation from the start.

import { createLimiter, tokenBucket } from "sluice";

const limiter = createLimiter({
  limit: tokenBucket({ capacity: 10_000, refill: { amount: 10_000, everyMs: 86_400_000 } }),
});

async function complete(tenant: string, prompt: string): Promise<string> {
  const reservation = limiter.reserve(tenant, { cost: 4_000 });
  if (!reservation.allowed) return "too busy";
  try {
    const answer = await callModel(prompt);
    reservation.commit(answer.tokens);
    return answer.text;
  } finally {
    // Gives everything back if the call failed; after a commit it does nothing.
    reservation.cancel();
  }
}

async function callModel(prompt: string): Promise<{ text: string; tokens: number }> {
  if (prompt === "fail") throw new Error("the model is down");
  return { text: prompt.toUpperCase(), tokens: 1_200 };
}

const left = () => limiter.peek("tenant:7").remaining;
const all = [
  complete("tenant:7", "one"),
  complete("tenant:7", "two"),
  complete("tenant:7", "three"),
];
console.log(`three in parallel, all waiting: ${left()} left`);
console.log((await Promise.all(all)).join(", "));
console.log(`after they settled: ${left()} left`);
await complete("tenant:7", "fail").catch((error: Error) => console.log(error.message));
console.log(`after the failure: ${left()} left`);

// Prints:
// three in parallel, all waiting: 2000 left
// ONE, TWO, too busy
// after they settled: 7600 left
// the model is down
// after the failure: 7600 left
