// Routes of rule sets: drafts, the published version and those before it.

import { RulesError } from "sluice/rules";
import {
  anyString,
  choice,
  object,
  optional,
  required,
  wholeNumber,
  withDefault,
} from "sluice/shapes";
import { ServerError, show } from "../../../base/errors.js";
import {
  mustFit,
  type RuleSets,
  type RuleSetVersion,
  TEXT_LENGTH_MAX,
} from "../../../control/entities/rule-sets.js";
import { checkRules } from "../../../core/rules/known-rules.js";
import {
  type AdminReply,
  json,
  PreconditionError,
  toETag,
  versioned,
} from "../../replies/admin-reply.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { toChange } from "../../request/change-request.js";
import { conditionOf } from "../../request/conditions.js";
import { paging, queryNumber, toPage } from "../../request/paging.js";
import { type AdminRequest, controlRoute, type Route, route } from "../../route.js";
import { previewOf } from "./preview-answer.js";

/** JSON may need six bytes for a character of the rules. */
const BODY_BYTES_MAX = 6 * TEXT_LENGTH_MAX;
const NUMBER_MAX = 9_999_999_999;

const path = "/v1/rule-sets";
const text = required(
  anyString(BODY_BYTES_MAX),
  `The rules: YAML or JSON, of up to ${TEXT_LENGTH_MAX} characters. Longer ones get 413.`,
);
const reason = optional(anyString(1_000), "Why, for the audit log.");
const draftInput = object({ text, reason });
const publishInput = object({
  note: optional(anyString(1_000, 0), "What is new, for people."),
  expected: optional(
    wholeNumber({ min: 0, max: NUMBER_MAX }),
    "The version that you expect to be published; 0 for none. If it is another one, the answer is 409.",
  ),
  reason,
});

const previewInput = object({
  text,
  minutes: withDefault(
    wholeNumber({ min: 1, max: 5 }),
    5,
    "How far back requests are decided again.",
  ),
  keys: withDefault(
    choice(["hashed", "clear"]),
    "hashed",
    "`clear` shows keys as they are counted, to operators.",
  ),
});

const list = controlRoute({
  method: "GET",
  path,
  role: "viewer",
  summary: "The versions of the rules, without their text.",
  query: object({
    ...paging,
    status: optional(choice(["draft", "published", "superseded"]), "Only those."),
  }),
  reply: controlAnswers.ruleSets,
  handle: async ({ ruleSets }, { query: { after, limit, status } }) => {
    const page = { status, after: toNumber(after ?? "0"), limit: limit + 1 };
    return json(toPage(await ruleSets.list(page), limit, ({ number }) => number));
  },
});

const create = controlRoute({
  method: "POST",
  path,
  role: "operator",
  summary: "Creates a draft. Rules that can't be used may be kept as one, but not published.",
  input: draftInput,
  bodyBytesMax: BODY_BYTES_MAX,
  reply: controlAnswers.ruleSet,
  status: 201,
  handle: async ({ ruleSets }, request) => {
    const version = await ruleSets.createDraft(toChange(request), request.input.text);
    const headers = { ETag: toETag(version.revision), Location: `${path}/${version.number}` };
    return json(version, 201, headers);
  },
});

const validate = route({
  method: "POST",
  path: `${path}/validate`,
  role: "viewer",
  isRead: true,
  summary: "Whether rules can be used, and all that is wrong with them. Keeps nothing.",
  input: object({ text }),
  bodyBytesMax: BODY_BYTES_MAX,
  reply: controlAnswers.validation,
  handle: ({ control: { controlPlane } }, { input }) => {
    const plane = controlPlane === undefined || "follow" in controlPlane ? undefined : controlPlane;
    const { text } = input;
    mustFit(text);
    return toValidation(plane?.ruleSets.check(text) ?? checkRules(text, undefined));
  },
});

const preview = route({
  method: "POST",
  path: `${path}/preview`,
  role: "viewer",
  isRead: true,
  summary:
    "What rules would have done to the sampled requests of the last minutes, compared with those in force.",
  input: previewInput,
  bodyBytesMax: BODY_BYTES_MAX,
  reply: controlAnswers.preview,
  handle: async (context, { input, message, caller }) => {
    mustFit(input.text);
    const showsKeys = context.clearKeys.shows(input.keys, message.headers, caller);
    return json(await previewOf(context, { ...input, showsKeys }));
  },
});

const published = controlRoute({
  method: "GET",
  path: `${path}/published`,
  role: "viewer",
  summary: "The version that is published.",
  reply: controlAnswers.ruleSet,
  handle: async ({ ruleSets }) => {
    const version = await ruleSets.published();
    if (version === undefined) throw new ServerError("SLUICE_NOT_FOUND", "no rules are published");
    return versioned(version);
  },
});

const get = controlRoute({
  method: "GET",
  path: `${path}/{number}`,
  role: "viewer",
  summary: "A version of the rules.",
  reply: controlAnswers.ruleSet,
  handle: async ({ ruleSets }, { params }) => versioned(await mustFind(ruleSets, params.number)),
});

const edit = controlRoute({
  method: "PUT",
  path: `${path}/{number}`,
  role: "operator",
  summary: "Replaces the rules of a draft. Needs If-Match.",
  input: draftInput,
  bodyBytesMax: BODY_BYTES_MAX,
  reply: controlAnswers.ruleSet,
  handle: async ({ ruleSets }, request) => {
    const { number, revision: current } = await mustFind(ruleSets, request.params.number);
    const { revision = current, isSaid } = conditionOf(request.message.headers);
    if (!isSaid) throw new PreconditionError(current);
    const { text } = request.input;
    return versioned(await ruleSets.editDraft(toChange(request), { number, text, revision }));
  },
});

const publish = controlRoute({
  method: "POST",
  path: `${path}/{number}/publish`,
  role: "admin",
  summary:
    "Publishes a draft: every node enforces it. Without `expected`, the version that the draft was based on has to be published.",
  input: publishInput,
  reply: controlAnswers.ruleSet,
  handle: async ({ ruleSets }, request) => {
    const { note = "" } = request.input;
    const { number, basedOn } = await mustFind(ruleSets, request.params.number);
    const { expected = basedOn } = request.input;
    return versioned(await ruleSets.publish(toPublishing(request), { number, note, expected }));
  },
});

const rollback = controlRoute({
  method: "POST",
  path: `${path}/{number}/rollback`,
  role: "admin",
  summary: "Publishes the rules of an earlier version again, as a new version.",
  input: publishInput,
  reply: controlAnswers.ruleSet,
  handle: async ({ ruleSets }, request) => {
    const { note = "" } = request.input;
    const expected = request.input.expected ?? (await ruleSets.published())?.number ?? 0;
    const to = toNumber(request.params.number);
    return versioned(await ruleSets.rollback(toPublishing(request), { to, note, expected }));
  },
});

const diff = controlRoute({
  method: "GET",
  path: `${path}/{number}/diff`,
  role: "viewer",
  summary: "What publishing a version would change, or what it changed compared with another one.",
  query: object({
    from: optional(
      queryNumber({ min: 1, max: NUMBER_MAX }),
      "The version to compare with. Default: the one that is published.",
    ),
  }),
  reply: controlAnswers.ruleSetDiff,
  handle: async ({ ruleSets }, { params, query }) => {
    const from = query.from ?? (await ruleSets.published())?.number;
    if (from === undefined)
      throw new ServerError("SLUICE_NOT_FOUND", "no rules are published; say from");
    return json(await ruleSets.diff(from, toNumber(params.number)));
  },
});

/** The routes of rule sets. `published`, `validate` and `preview` come before `{number}`. */
export const ruleSetRoutes: readonly Route[] = [
  list,
  create,
  validate,
  preview,
  published,
  get,
  edit,
  publish,
  rollback,
  diff,
];

/** What is new says why, where no reason is given. */
function toPublishing(request: AdminRequest<unknown, { readonly note: string | undefined }>) {
  const change = toChange(request);
  return change.reason === "" ? { ...change, reason: request.input.note ?? "" } : change;
}

async function mustFind(ruleSets: RuleSets, given: string): Promise<RuleSetVersion> {
  const number = toNumber(given);
  const version = await ruleSets.find(number);
  if (version === undefined)
    throw new ServerError("SLUICE_NOT_FOUND", `there is no rule set ${number}`);
  return version;
}

function toNumber(given: string): number {
  if (/^\d{1,10}$/.test(given)) return Number(given);
  throw new ServerError("SLUICE_REQUEST_INVALID", `a rule set has a number, got ${show(given)}`);
}

async function toValidation(checking: Promise<string>): Promise<AdminReply> {
  try {
    return json({ valid: true, version: await checking, problems: [] });
  } catch (error) {
    if (error instanceof RulesError)
      return json({ valid: false, version: null, problems: error.problems });
    const isTooLarge = error instanceof ServerError && error.code === "SLUICE_BODY_TOO_LARGE";
    if (error instanceof ServerError && error.status < 500 && !isTooLarge)
      return json({ valid: false, version: null, problems: [{ message: error.message }] });
    throw error;
  }
}
