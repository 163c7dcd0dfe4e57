// A file of envoyproxy/ratelimit into a domain: the keys that service knows, and one of ours. An unknown
// key is a problem, so that no limit is silently misspelt; one in the wrong place, which that
// service ignores, is ignored here too and reported.

import { show } from "../../base/errors.js";
import type { JsonObject } from "../messages.js";
import { parseMetadata } from "./metadata.js";
import { type LimitConfig, parseLimit } from "./rate-limit.js";
import { isNothing, type YamlField, YamlSource, type YamlValue } from "./source.js";

/** What one descriptor of a file says. */
export interface DescriptorConfig {
  readonly key: string;
  /** Empty: any value. */
  readonly value: string;
  /** `ratelimit.yaml:14`. */
  readonly place: string;
  readonly limit: LimitConfig | undefined;
  readonly shadow: boolean;
  readonly isQuota: boolean;
  /** Whether all values that the wildcard matches share one counter. */
  readonly isShared: boolean;
  /** What answers carry while its limit passes; undefined: nothing. */
  readonly metadata: JsonObject | undefined;
  readonly descriptors: readonly DescriptorConfig[];
}

/** What a file says. */
export interface DomainConfig {
  readonly domain: string;
  readonly place: string;
  readonly descriptors: readonly DescriptorConfig[];
}

/** A file that was read: its domain unless there are problems. */
export interface ParsedFile {
  readonly domain: DomainConfig | undefined;
  /** Each with its place, on one line. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** The most descriptors of a file, each alias counted as often as it is used. */
export const DESCRIPTORS_MAX = 100_000;
/** The deepest nesting of descriptors, which is also the most entries that could ever match. */
export const DEPTH_MAX = 32;

const ROOT_KEYS = ["domain", "descriptors"];
const DESCRIPTOR_KEYS = [
  "key",
  "value",
  "rate_limit",
  "descriptors",
  "shadow_mode",
  "quota_mode",
  "detailed_metric",
  "value_to_metric",
  "share_threshold",
  "metadata",
];
const LIMIT_KEYS = ["unit", "requests_per_unit", "unlimited", "name", "replaces", "sluice"];
/** Our own fields are never ignored: they are there on purpose. */
const ELSEWHERE = new Set([...ROOT_KEYS, ...DESCRIPTOR_KEYS, ...LIMIT_KEYS].filter(isTheirs));

/** Reads a file. Never throws for what it says. */
export function parseFile(file: string, text: string): ParsedFile {
  const source = new YamlSource(file, text);
  const domain = source.problems.length > 0 ? undefined : new FileParser(source).domain();
  const { problems, warnings } = source;
  return { domain: problems.length > 0 ? undefined : domain, problems, warnings };
}

class FileParser {
  readonly #source: YamlSource;
  #count = 0;

  constructor(source: YamlSource) {
    this.#source = source;
  }

  domain(): DomainConfig {
    const source = this.#source;
    const root = this.#known(source.fields(source.root, "the file"), ROOT_KEYS);
    const domain = source.text(root.get("domain")?.value, "domain");
    if (domain === "" && source.problems.length === 0)
      source.say(root.get("domain")?.at ?? source.root, "domain is missing or empty");
    const place = source.placeOf(root.get("domain")?.at);
    const list = root.get("descriptors");
    return { domain, place, descriptors: this.#descriptors(list?.value, `${domain}.`, 0) };
  }

  #descriptors(list: YamlValue, path: string, depth: number): readonly DescriptorConfig[] {
    const items = this.#source.items(list, "descriptors");
    if (items.length > 0 && depth >= DEPTH_MAX) {
      return this.#source.say(list, `descriptors are nested deeper than ${DEPTH_MAX}`) ?? [];
    }
    const places = new Map<string, string>();
    return items.flatMap((item) => this.#descriptor(item, path, depth, places) ?? []);
  }

  #descriptor(
    item: YamlValue,
    path: string,
    depth: number,
    places: Map<string, string>,
  ): DescriptorConfig | undefined {
    const source = this.#source;
    if (++this.#count === DESCRIPTORS_MAX + 1) {
      return source.say(item, `more than ${DESCRIPTORS_MAX} descriptors`);
    }
    if (this.#count > DESCRIPTORS_MAX) return undefined;
    const saidBefore = source.problems.length;
    const fields = this.#known(source.fields(item, "a descriptor"), DESCRIPTOR_KEYS);
    const text = (name: string) => source.text(fields.get(name)?.value, name);
    const truth = (name: string) => source.truth(fields.get(name)?.value, name);
    const [key, value] = [text("key"), text("value")];
    if (key === "") {
      const isTold = source.problems.length > saidBefore;
      return isTold ? undefined : source.say(item, "key is missing or empty");
    }
    const composite = toComposite(key, value);
    this.#mustBeNew(item, path + composite, places);
    const isShared = truth("share_threshold");
    if (isShared && !composite.includes("*")) {
      source.say(fields.get("share_threshold")?.at, "share_threshold needs a value with a *");
    }
    // What is only about metrics is read for its type.
    for (const name of ["detailed_metric", "value_to_metric"]) truth(name);
    return {
      key,
      value,
      place: source.placeOf(item),
      limit: this.#limit(fields.get("rate_limit")),
      shadow: truth("shadow_mode"),
      isQuota: truth("quota_mode"),
      isShared,
      metadata: parseMetadata(source, fields.get("metadata")),
      descriptors: this.#descriptors(
        fields.get("descriptors")?.value,
        `${path}${composite}.`,
        depth + 1,
      ),
    };
  }

  #mustBeNew(item: YamlValue, composite: string, places: Map<string, string>): void {
    const before = places.get(composite);
    if (before === undefined) places.set(composite, this.#source.placeOf(item));
    else
      this.#source.say(
        item,
        `duplicate descriptor composite key ${show(composite)}, as in ${before}`,
      );
  }

  #limit(field: YamlField | undefined): LimitConfig | undefined {
    const source = this.#source;
    // A name without a value means no limit, as in envoyproxy/ratelimit.
    if (field === undefined || isNothing(field.value)) return undefined;
    const fields = source.fields(field.value, "rate_limit");
    return parseLimit(source, field, this.#known(fields, LIMIT_KEYS));
  }

  /** The fields that mean something here. */
  #known(fields: readonly YamlField[], known: readonly string[]): ReadonlyMap<string, YamlField> {
    const found = new Map<string, YamlField>();
    for (const field of fields) {
      if (known.includes(field.name)) found.set(field.name, field);
      else if (ELSEWHERE.has(field.name))
        this.#source.warn(field.at, `${field.name} has no effect here`);
      else this.#sayUnknown(field, known);
    }
    return found;
  }

  #sayUnknown({ name, at }: YamlField, known: readonly string[]): void {
    const here = known.filter(isTheirs).join(", ");
    this.#source.say(at, `unknown key ${JSON.stringify(name)}; known here: ${here}`);
  }
}

function isTheirs(key: string): boolean {
  return key !== "sluice";
}

/** The name under which a level of a file holds a descriptor. */
export function toComposite(key: string, value: string): string {
  return value === "" ? key : `${key}_${value}`;
}
