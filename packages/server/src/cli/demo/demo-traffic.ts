// The traffic of the demo, so that its pages have something to show within seconds: visitors, a shop with bursts, a
// scraper that does not slow down, a script that guesses passwords, and two customers with API keys. All of it
// goes to the demo's own gateway, fewer than 50 requests a second. Its addresses are reserved for documentation, so that
// it never uses up what the user tries.

import { Agent, request } from "node:http";
import { every } from "../../base/clock.js";
import type { DemoKeys } from "./demo-customers.js";

/** Every address of the demo's traffic begins with it. */
export const DEMO_NETWORK = "198.51.100.";

/** Requests that wait for an answer; more are not sent. */
const PENDING_MAX = 60;
const CONNECTIONS_MAX = 20;
const TICK_MS = 250;
const TICKS_PER_SECOND = 1_000 / TICK_MS;

/** A request of the demo. */
interface DemoRequest {
  readonly method?: "GET" | "POST";
  readonly path: string;
  /** The last part of the address. */
  readonly from: number;
  readonly apiKey?: string;
}

/** Running traffic. */
export interface DemoTraffic {
  /** Ends it; requests under way are dropped. */
  close(): void;
}

/** Starts the traffic. */
export function startTraffic(gateway: string, keys: DemoKeys): DemoTraffic {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  let pending = 0;
  let tick = 0;
  const send = ({ method = "GET", path, from, apiKey }: DemoRequest) => {
    if (pending >= PENDING_MAX) return;
    pending++;
    const headers = {
      "x-forwarded-for": `${DEMO_NETWORK}${from}`,
      ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
      ...(method === "POST" ? { "content-length": 0 } : {}),
    };
    const sent = request(`${gateway}${path}`, { method, headers, agent }, (r) => void r.resume());
    // What the gateway answers, or that it is gone, is of no interest here.
    sent.on("error", () => {});
    sent.on("close", () => void pending--);
    sent.end();
  };
  const stop = every(TICK_MS, () => {
    for (const each of requestsOf(tick++, keys)) send(each);
  });
  return {
    close: () => {
      stop();
      agent.destroy();
    },
  };
}

/** What is sent in one tick, a quarter of a second. */
export function requestsOf(tick: number, { acme, globex }: DemoKeys): DemoRequest[] {
  const second = Math.floor(tick / TICKS_PER_SECOND);
  const isOnce = tick % TICKS_PER_SECOND === 0;
  const requests: DemoRequest[] = [
    // A visitor each quarter of a second, in turn.
    { path: PAGES[tick % PAGES.length], from: 11 + (tick % 5) },
    // The scraper: twelve a second, whatever it is answered.
    ...times(3, (i) => ({ path: `/products/${tick * 3 + i}`, from: 66 })),
    // Searches, a little faster than they are let through.
    ...(second % 3 === 0 ? [] : [{ path: "/search?q=shoes", from: 31 }]),
    { path: "/api/orders", from: 41, apiKey: acme },
  ];
  if (isOnce) requests.push({ path: "/api/orders", from: 51, apiKey: globex });
  if (isOnce) requests.push({ method: "POST", path: "/api/exports", from: 41, apiKey: acme });
  if (isOnce && second % 2 === 0) {
    requests.push({ method: "POST", path: "/login", from: 99 });
    requests.push({ method: "POST", path: "/api/exports", from: 51, apiKey: globex });
  }
  // A shop that loads a page with all of its pictures.
  if (isOnce && second % 10 === 4)
    requests.push(...times(26, (i) => ({ path: `/pictures/${i}`, from: 21 })));
  return requests;
}

const PAGES = ["/", "/products", "/products/7", "/cart", "/about", "/help"];

function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}
