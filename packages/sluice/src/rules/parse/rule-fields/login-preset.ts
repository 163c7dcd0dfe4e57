// `preset: login`: the rules against credential stuffing in one line. It stands for three ordinary rules, which count failed
// logins by account, by address and by network; the last two block callers that go on. Accounts are not blocked for longer
// each time: a caller that knows the name of an account could lock its owner out.

import {
  choice,
  isRecord,
  object,
  oneOrMany,
  optional,
  required,
  type Shape,
  type Spot,
  withDefault,
} from "../../../base/shapes/shapes.js";
import { escalate } from "../../../stores/escalation/escalate-shape.js";
import type { Rule } from "../../rule.js";
import { dimension } from "./dimension.js";
import { limits } from "./limit.js";
import { host, method, pathPattern, ruleId } from "./names.js";
import { status } from "./status.js";

const list = { countMax: 100 };

/** The fields of the preset. */
export const loginFields = object({
  preset: required(choice(["login"]), "The name of the preset."),
  id: withDefault(ruleId, "login", "What the ids of its rules begin with: `login-account`."),
  path: required(oneOrMany(pathPattern, list), "Where clients log in: one pattern or several."),
  methods: withDefault(oneOrMany(method, list), "POST", "One or several."),
  host: optional(oneOrMany(host, list), "One or several; by default all."),
  account: withDefault(
    dimension,
    "body:username",
    "Where the name of the account is, as a dimension of a key.",
  ),
  failures: withDefault(
    oneOrMany(status, list),
    [401, 403],
    "The statuses of a failed login; no other response counts.",
  ),
  perAccount: withDefault(limits, "10/15m", "Failed logins of one account, from any address."),
  perAddress: withDefault(limits, "20/15m", "Failed logins from one address."),
  perNetwork: withDefault(limits, "100/15m", "Failed logins from one network, `ipPrefix:24/48`."),
  escalate: withDefault(
    escalate,
    { after: "20 refusals in 5m", blocks: ["1m", "10m", "1h", "1d"] },
    "Blocks addresses and networks that keep being refused.",
  ),
  onExceed: withDefault(
    choice(["reject", "shadow"]),
    "reject",
    "What happens beyond a limit. `shadow` only counts and reports.",
  ),
});

type Written = Readonly<Record<string, unknown>>;

/** Whether a value is meant as a preset. */
export function isPreset(value: unknown): boolean {
  return isRecord(value) && "preset" in value;
}

/** The rules that the preset stands for, each read by `rule`. */
export function loginPreset(rule: Shape<Rule>): Shape<readonly Rule[]> {
  return {
    what: loginFields.what,
    schema: loginFields.schema,
    fields: loginFields.fields,
    read: (value: unknown, spot: Spot) => {
      if (loginFields.read(value, spot) === undefined) return undefined;
      const rules = toWrittenRules(value as Written).map((written) => rule.read(written, spot));
      return rules.every((each) => each !== undefined) ? rules : undefined;
    },
  };
}

/** The rules as a file would write them. */
function toWrittenRules(given: Written): readonly Written[] {
  const value = (name: keyof typeof loginFields.fields) =>
    given[name] ?? loginFields.fields[name].byDefault;
  const match = {
    path: given.path,
    methods: value("methods"),
    ...(given.host === undefined ? {} : { host: given.host }),
  };
  const common = { match, when: { status: value("failures") }, onExceed: value("onExceed") };
  const id = value("id");
  const escalates = { escalate: value("escalate") };
  return [
    // First, because it needs no more than what every request shows.
    { id: `${id}-address`, key: "ip", limit: value("perAddress"), ...common, ...escalates },
    { id: `${id}-network`, key: NETWORK, limit: value("perNetwork"), ...common, ...escalates },
    {
      id: `${id}-account`,
      key: value("account"),
      // A body that can't be read (too large, compressed, a field twice) has no name. Were it let through, an attacker
      // with many addresses could guess without a limit.
      onMissing: "refuse",
      limit: value("perAccount"),
      ...common,
    },
  ];
}

/** What one customer of a provider usually has. */
const NETWORK = "ipPrefix:24/48";
