// Rule sets: numbered versions of the rules. One is published, at most; those before it are superseded, and any number
// are drafts. What was published never changes: a rollback publishes the old rules as a new version.

import {
  diffRules,
  type RuleException,
  type RulesDiff,
  withExceptionsInSlices,
} from "sluice/rules";
import { nextTurn, wallMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import {
  checkRules,
  mustBeUsableOnce,
  parseKnown,
  readAhead,
} from "../../core/rules/known-rules.js";
import type { RulesUse } from "../../core/rules/read-job.js";
import type { RulesText } from "../../core/rules-text.js";
import type { Reader } from "../../database/database.js";
import type { ChangeRequest, Changes, Edit } from "../changes/changes.js";
import { ConflictError } from "../changes/changes.js";
import { Entities, type Entity } from "../changes/entity.js";

/** Where a version stands. */
export type RuleSetStatus = "draft" | "published" | "superseded";

/** A version of the rules. */
export interface RuleSetVersion {
  /** From 1, in the order in which they were made. */
  readonly number: number;
  readonly status: RuleSetStatus;
  /** The rules as they were written: YAML or JSON. */
  readonly text: string;
  /** What was said when it was published. */
  readonly note: string;
  /** The version that was published when the draft was made; 0 if none was. */
  readonly basedOn: number;
  /** Another one after each edit of a draft. */
  readonly revision: number;
  /** When it was published, by the wall clock, and by whom. Drafts have neither, nor do versions of earlier releases. */
  readonly publishedAtMs?: number | undefined;
  readonly publishedBy?: string | undefined;
}

/** A version without its rules. */
export type RuleSetHead = Omit<RuleSetVersion, "text">;

/** Which versions are listed. */
export interface RuleSetPage {
  /** Default: all. */
  readonly status?: RuleSetStatus | undefined;
  /** Default: from the first. */
  readonly after?: number | undefined;
  /** At most this many; default 100. */
  readonly limit?: number | undefined;
}

/** What rule sets are checked with before they are published. */
export interface RuleChecks {
  /** What the policies of the service can do. Default: they can use all rules that parse. */
  readonly use?: RulesUse | undefined;
  /** The exceptions that published rules must fit. Default: none. */
  readonly readExceptions?: ((entities: Entities) => Promise<readonly RuleException[]>) | undefined;
}

const KIND = "rule-set";
const PAGE_DEFAULT = 100;
/** Versions that are read together, with their texts of up to megabytes. Decisions wait meanwhile. */
const TEXTS_READ = 4;
/** The longest rules, in characters: about 20,000 rules. */
export const TEXT_LENGTH_MAX: number = 2 << 20;

/** Reads and changes rule sets. */
export class RuleSets {
  readonly #entities: Entities;
  readonly #changes: Changes;
  readonly #checks: RuleChecks;

  constructor(reader: Reader, changes: Changes, checks: RuleChecks = {}) {
    this.#entities = new Entities(reader);
    this.#changes = changes;
    this.#checks = checks;
  }

  /**
   * The version of rules, if this service can use them; long ones are read without holding up decisions.
   *
   * @throws RulesError, or what else keeps this service from using them.
   */
  async check(text: string): Promise<string> {
    mustFit(text);
    return checkRules(text, this.#checks.use);
  }

  /** The published version; undefined before the first is. */
  published(): Promise<RuleSetVersion | undefined> {
    return findPublished(this.#entities);
  }

  /** A version; undefined if there is none of that number. */
  async find(number: number): Promise<RuleSetVersion | undefined> {
    const entity = await this.#entities.find(KIND, toRuleSetId(number));
    return entity === undefined ? undefined : toVersion(entity);
  }

  /** A page of versions, in the order of their numbers. `after`: those with a greater number. */
  async list(page: RuleSetPage = {}): Promise<RuleSetHead[]> {
    const { status: parent, after = 0, limit = PAGE_DEFAULT } = page;
    const heads: RuleSetHead[] = [];
    let last = toRuleSetId(after);
    while (heads.length < limit) {
      const count = Math.min(TEXTS_READ, limit - heads.length);
      const entities = await this.#entities.list(KIND, { parent, after: last, limit: count });
      heads.push(...entities.map(toVersion).map(({ text: _, ...head }) => head));
      last = entities.at(-1)?.id ?? last;
      if (entities.length < count) break;
      await nextTurn();
    }
    return heads;
  }

  /** Makes a draft. Rules that can't be used may be kept as one; they can't be published. */
  async createDraft(request: ChangeRequest, text: string): Promise<RuleSetVersion> {
    mustFit(text);
    const [entry] = await this.#changes.apply(request, async (entities) => {
      const basedOn = (await findPublished(entities))?.number ?? 0;
      const number = await nextNumber(entities);
      return [
        {
          action: "draft",
          ...toEdit({ number, status: "draft", text, note: "", basedOn }),
          revision: 0,
        },
      ];
    });
    return this.#mustFind(Number(entry?.entityId));
  }

  /**
   * Edits a draft.
   *
   * @param revision - Of the draft that was edited.
   * @throws ConflictError if it was edited since; ServerError `SLUICE_NOT_FOUND` if there is no such draft.
   */
  async editDraft(
    request: ChangeRequest,
    { number, text, revision }: { number: number; text: string; revision: number },
  ): Promise<RuleSetVersion> {
    mustFit(text);
    await this.#changes.apply(request, async (entities) => {
      const draft = await mustBeDraft(entities, number);
      return [{ action: "edit", ...toEdit({ ...draft, text }), revision }];
    });
    return this.#mustFind(number);
  }

  /**
   * Publishes a draft; the version before it is superseded.
   *
   * @param expected - The version that the publisher expects to be published; 0 for none.
   * @throws RulesError if the rules can't be used; ConflictError if another version is published by now.
   */
  async publish(
    request: ChangeRequest,
    { number, note, expected }: { number: number; note: string; expected: number },
  ): Promise<RuleSetVersion> {
    await this.#readAhead(number, number);
    await this.#changes.apply(request, async (entities) => {
      const draft = await mustBeDraft(entities, number);
      return this.#toPublish(entities, toPublished(request, { ...draft, note }), expected);
    });
    return this.#mustFind(number);
  }

  /**
   * Publishes rules if none were published yet.
   *
   * @returns The version; undefined if there is a published one.
   */
  async publishFirst(
    request: ChangeRequest,
    { text, note }: { text: string; note: string },
  ): Promise<RuleSetVersion | undefined> {
    const [entry] = await this.#changes.apply(request, async (entities) => {
      if ((await findPublished(entities)) !== undefined) return [];
      const number = await nextNumber(entities);
      const version = toPublished(request, { number, text, note, basedOn: 0 });
      return this.#toPublish(entities, version, 0);
    });
    return entry === undefined ? undefined : this.#mustFind(Number(entry.entityId));
  }

  /** Publishes the rules of an earlier version again, as a new one. */
  async rollback(
    request: ChangeRequest,
    { to, note, expected }: { to: number; note: string; expected: number },
  ): Promise<RuleSetVersion> {
    await this.#readAhead(to, await nextNumber(this.#entities));
    const entries = await this.#changes.apply(request, async (entities) => {
      const earlier = await entities.find(KIND, toRuleSetId(to));
      const version = earlier === undefined ? undefined : toVersion(earlier);
      if (version?.status !== "superseded") throw notFound(sayNotEarlier(to, version?.status));
      const number = await nextNumber(entities);
      const again = toPublished(request, { ...version, number, note, basedOn: expected });
      return this.#toPublish(entities, again, expected);
    });
    return this.#mustFind(Number(entries.at(-1)?.entityId));
  }

  /** What publishing `to` would change, compared with `from`. */
  async diff(from: number, to: number): Promise<RulesDiff> {
    const [before, after] = [await this.#mustFind(from), await this.#mustFind(to)].map(toRulesText);
    await readAhead(before, { purpose: "inspect" });
    await readAhead(after, { purpose: "inspect" });
    return diffRules(parseKnown(before), parseKnown(after));
  }

  /** Reads long rules before the change that publishes them as `number`, which other changes wait for. */
  async #readAhead(from: number, number: number): Promise<void> {
    const version = await this.find(from);
    if (version !== undefined)
      await readAhead(toRulesText({ ...version, number }), { use: this.#checks.use });
  }

  async #toPublish(
    entities: Entities,
    version: Omit<RuleSetVersion, "status" | "revision">,
    expected: number,
  ): Promise<Edit[]> {
    const current = await findPublished(entities);
    const publishing: Edit = {
      action: "publish",
      ...toEdit({ ...version, status: "published" }),
    };
    if ((current?.number ?? 0) !== expected) {
      const there = current && (await entities.find(KIND, toRuleSetId(current.number)));
      throw new ConflictError({ ...publishing, revision: expected }, there);
    }
    await this.#mustBeUsable(entities, version);
    if (current === undefined) return [publishing];
    return [{ action: "supersede", ...toEdit({ ...current, status: "superseded" }) }, publishing];
  }

  /** Nodes put rules in force together with the exceptions of plans and overrides. */
  async #mustBeUsable(
    entities: Entities,
    version: Pick<RuleSetVersion, "number" | "text">,
  ): Promise<void> {
    mustFit(version.text);
    const rules = parseKnown(toRulesText(version));
    const exceptions = (await this.#checks.readExceptions?.(entities)) ?? [];
    const inForce = await withExceptionsInSlices(rules, exceptions, { unknownRules: "ignore" });
    if (this.#checks.use !== undefined) mustBeUsableOnce(inForce, this.#checks.use);
  }

  async #mustFind(number: number): Promise<RuleSetVersion> {
    const found = await this.find(number);
    if (found === undefined) throw notFound(`there is no rule set ${number}`);
    return found;
  }
}

/** The rules that are published, as they were written; undefined if none are. */
export async function publishedTextOf(entities: Entities): Promise<RulesText | undefined> {
  const published = await findPublished(entities);
  return published && toRulesText(published);
}

/** The rules of a version, under the name by which errors call them where a file would be named. */
export function toRulesText({ number, text }: Pick<RuleSetVersion, "number" | "text">): RulesText {
  return { file: `rule set ${number}`, text };
}

async function findPublished(entities: Entities): Promise<RuleSetVersion | undefined> {
  const [entity] = await entities.list(KIND, { parent: "published", limit: 1 });
  return entity === undefined ? undefined : toVersion(entity);
}

async function nextNumber(entities: Entities): Promise<number> {
  return Number((await entities.last(KIND))?.id ?? 0) + 1;
}

async function mustBeDraft(entities: Entities, number: number): Promise<RuleSetVersion> {
  const entity = await entities.find(KIND, toRuleSetId(number));
  if (entity === undefined) throw notFound(`there is no rule set ${number}`);
  const version = toVersion(entity);
  if (version.status === "draft") return version;
  throw notFound(`rule set ${number} is ${version.status}, not a draft`);
}

/** Why rules can't be rolled back to. */
function sayNotEarlier(number: number, status: RuleSetStatus | undefined): string {
  if (status === undefined) return `there is no rule set ${number}`;
  const how = status === "draft" ? "a draft, which was never published" : "the published one";
  return `rule set ${number} is ${how}; a rollback goes to an earlier one`;
}

/** The id of the version of a number. Ids sort as their numbers do. */
export function toRuleSetId(number: number): string {
  return String(number).padStart(10, "0");
}

function toPublished<V extends object>({ actor }: ChangeRequest, version: V) {
  return { ...version, publishedAtMs: wallMs(), publishedBy: actor };
}

/** A version belongs to its status, so that the published one is found without the others. */
function toEdit(
  version: Omit<RuleSetVersion, "revision">,
): Pick<Edit, "kind" | "id" | "parent" | "body"> {
  const { number, status, text, note, basedOn, publishedAtMs, publishedBy } = version;
  const published = publishedAtMs === undefined ? {} : { publishedAtMs, publishedBy };
  const body = { status, text, note, basedOn, ...published };
  return { kind: KIND, id: toRuleSetId(number), parent: status, body };
}

function toVersion({ id, revision, body }: Entity): RuleSetVersion {
  return { ...(body as Omit<RuleSetVersion, "number" | "revision">), number: Number(id), revision };
}

/** @throws ServerError `SLUICE_BODY_TOO_LARGE` if rules are longer than {@link TEXT_LENGTH_MAX}. */
export function mustFit(text: string): void {
  if (text.length <= TEXT_LENGTH_MAX) return;
  const seen = `a rule set of ${text.length} characters; the bound is ${TEXT_LENGTH_MAX}`;
  throw new ServerError("SLUICE_BODY_TOO_LARGE", seen);
}

function notFound(seen: string): ServerError {
  return new ServerError("SLUICE_NOT_FOUND", seen);
}
