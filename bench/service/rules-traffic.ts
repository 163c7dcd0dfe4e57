// A file with the rules of a large API, and requests that are spread over all of them, for `service/rules-scale`.
// As in `rules/scale`, three rules match each request, and there are as many callers, and so as many counters
// under each of the three, with ten rules as with ten thousand.

/** How many rules the two gateways have. */
export const FEW_RULES = 10;
export const MANY_RULES = 10_000;

/** Each service has three rules; one more rule counts every request. */
const RULES_PER_SERVICE = 3;
const CALLERS = 10_000;
/** The step from one caller to the next; coprime with their number, so that all of them come. */
const STEP = 3_571;

/** A file with this many rules. */
export function toRulesFile(rules: number): string {
  const services = Array.from({ length: servicesOf(rules) }, (_, i) => [
    toRule(`s${i}-all`, `${baseOf(i)}/*`),
    toRule(`s${i}-item`, `${baseOf(i)}/items/:id`),
    toRule(`s${i}-search`, `${baseOf(i)}/search`),
  ]);
  return ["version: 1", "rules:", ...services.flat(), toRule("everybody", "/*"), ""].join("\n");
}

/** A script of wrk that asks for paths of all services, in turn. */
export function toScript(rules: number): string {
  const requests = Array.from({ length: CALLERS }, (_, caller) => {
    // Half of the callers look for something, half look at it: either way three rules match.
    const rest = caller % 2 === 0 ? "search" : `items/${caller}`;
    const path = `${baseOf(caller % servicesOf(rules))}/${rest}`;
    return `  list[#list + 1] = wrk.format("GET", "${path}", {["X-Client"] = "c${caller}"})`;
  });
  // Not one after the other: neighbours would share what the processor has just loaded.
  const next = `n = (n + ${STEP}) % ${CALLERS}`;
  const turns = `request = function() ${next}; return list[n + 1] end`;
  return `local list, n = {}, 0\ninit = function()\n${requests.join("\n")}\nend\n${turns}\n`;
}

function servicesOf(rules: number): number {
  return Math.floor((rules - 1) / RULES_PER_SERVICE);
}

function baseOf(service: number): string {
  return `/v1/service-${service}`;
}

function toRule(id: string, path: string): string {
  return [
    `  - id: ${id}`,
    `    match: { path: "${path}" }`,
    "    key: header:x-client",
    "    limit: 1000000000/day",
  ].join("\n");
}
