// Which headers, cookies, fields of the body and attributes rules read: of a sampled request, only those are kept.

import { isSecretName, type Policy, type Rule } from "sluice/rules";

/** The most names of one kind. */
const NAMES_MAX = 50;

/** Names of facts, by their kind. */
export interface FactNames {
  readonly headers: ReadonlySet<string>;
  readonly cookies: ReadonlySet<string>;
  readonly body: ReadonlySet<string>;
  readonly attributes: ReadonlySet<string>;
  /** Headers that only costs read: numbers, which are not secrets whatever their names say (`x-tokens`). */
  readonly costHeaders: ReadonlySet<string>;
  /** Where in a body only costs read, by their paths as JSON: numbers too (`max_tokens`). */
  readonly costPaths: ReadonlyMap<string, readonly string[]>;
}

/** Kinds of facts that have names. */
export type FactKind = "headers" | "cookies" | "body" | "attributes";

/** A fact that a rule reads by a name. */
export interface NamedFact {
  readonly kind: "header" | "cookie" | "body" | "attribute";
  readonly name: string;
}

/** Facts of that name are fields of the facts themselves. */
const OWN_ATTRIBUTES: ReadonlySet<string> = new Set(["user", "tenant", "tier"]);

/** The facts that a rule matches or counts by, apart from its cost. One may come twice. */
export function* namedFactsOf({ match, key }: Rule): Generator<NamedFact> {
  for (const name of match.headers.keys()) yield { kind: "header", name };
  for (const name of match.attributes.keys()) {
    if (!OWN_ATTRIBUTES.has(name)) yield { kind: "attribute", name };
  }
  for (const dimension of key) if ("name" in dimension) yield dimension;
}

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
export function isSecret(kind: FactKind, name: string): boolean {
  return kind === "cookies" || isSecretName(name);
}

function collect(rules: readonly Rule[]): FactNames {
  const names = {
    headers: new Set<string>(),
    cookies: new Set<string>(),
    body: new Set<string>(),
    attributes: new Set<string>(),
  };
  for (const rule of rules) {
    for (const { kind, name } of namedFactsOf(rule)) {
      const known = names[KIND_OF[kind]];
      if (known.size < NAMES_MAX) known.add(name);
    }
  }
  return { ...names, ...collectCosts(rules, names) };
}

/** What only costs read: a name that is counted by too may be a secret. */
function collectCosts(
  rules: readonly Rule[],
  { headers, body }: Pick<FactNames, "headers" | "body">,
): Pick<FactNames, "costHeaders" | "costPaths"> {
  const costHeaders = new Set<string>();
  const costPaths = new Map<string, readonly string[]>();
  for (const { cost } of rules) {
    if (cost.kind === "header" && !headers.has(cost.name) && costHeaders.size < NAMES_MAX) {
      costHeaders.add(cost.name);
    }
    if (cost.kind !== "json") continue;
    for (const path of cost.sum.flat()) {
      const isCountedBy = path.length === 1 && body.has(path[0]);
      if (!isCountedBy && costPaths.size < NAMES_MAX) costPaths.set(JSON.stringify(path), path);
    }
  }
  return { costHeaders, costPaths };
}

/** Where names of a kind are listed. */
const KIND_OF = {
  header: "headers",
  cookie: "cookies",
  body: "body",
  attribute: "attributes",
} as const;
