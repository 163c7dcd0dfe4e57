// Which headers, cookies, fields of the body and attributes rules read: of a sampled request, only those are kept.

import { type Dimension, isSecretName, type Policy, type Rule } from "sluice/rules";

/** The most names of one kind. */
const NAMES_MAX = 50;

/** Names of facts, by their kind. */
export interface FactNames {
  readonly headers: ReadonlySet<string>;
  readonly cookies: ReadonlySet<string>;
  readonly body: ReadonlySet<string>;
  readonly attributes: ReadonlySet<string>;
}

/** Facts of that name are fields of the facts themselves. */
const OWN_ATTRIBUTES: ReadonlySet<string> = new Set(["user", "tenant", "tier"]);

/** The names that the rules of some policies read. They are collected again only when rules were replaced. */
export class NamesInRules {
  readonly #policies: () => Iterable<Policy>;
  #versions = "";
  #names: FactNames = collect([]);

  constructor(policies: () => Iterable<Policy>) {
    this.#policies = policies;
  }

  get current(): FactNames {
    const policies = [...this.#policies()];
    const versions = policies.map(({ version }) => version).join(" ");
    if (versions !== this.#versions) {
      this.#versions = versions;
      this.#names = collect(policies.flatMap(({ rules }) => rules.rules));
    }
    return this.#names;
  }
}

/** Whether the value of a fact must not be shown: cookies always are secrets. */
export function isSecret(kind: keyof FactNames, name: string): boolean {
  return kind === "cookies" || isSecretName(name);
}

function collect(rules: readonly Rule[]): FactNames {
  const names = {
    headers: new Set<string>(),
    cookies: new Set<string>(),
    body: new Set<string>(),
    attributes: new Set<string>(),
  };
  const add = (kind: keyof FactNames, name: string) => {
    if (names[kind].size < NAMES_MAX) names[kind].add(name);
  };
  for (const { match, key, cost } of rules) {
    for (const name of match.headers.keys()) add("headers", name);
    for (const name of match.attributes.keys()) {
      if (!OWN_ATTRIBUTES.has(name)) add("attributes", name);
    }
    for (const dimension of key) addDimension(dimension, add);
    if (cost.kind === "header") add("headers", cost.name);
    if (cost.kind === "json")
      for (const term of cost.sum) for (const [name] of term) add("body", name);
  }
  return names;
}

/** The kinds of facts that dimensions of a key read by a name. */
const KIND_OF = {
  header: "headers",
  cookie: "cookies",
  body: "body",
  attribute: "attributes",
} as const;

function addDimension(
  dimension: Dimension,
  add: (kind: keyof FactNames, name: string) => void,
): void {
  if ("name" in dimension) add(KIND_OF[dimension.kind], dimension.name);
}
