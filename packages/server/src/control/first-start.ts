// What a control node does to its database when it starts: it brings the schema up to date, publishes the configured
// rules if nothing was published yet, and makes the first access token. Each of these happens once, however many
// nodes start together.

import type { WrittenRules } from "../core/rules-in-force.js";
import type { Database } from "../database/database.js";
import { migrate } from "../database/migrate.js";
import { newSecret } from "../telemetry/random.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { ChangeRequest } from "./changes/changes.js";
import type { ControlPlane } from "./control-plane.js";
import type { RuleSets } from "./entities/rule-sets.js";

/** Who the control node is in the audit log. */
const ACTOR = "local";

/** Options of {@link prepareDatabase}. */
export interface FirstStartOptions {
  readonly telemetry: Telemetry;
  /** The rules of the configuration; undefined if it has no rules. */
  readonly rules: WrittenRules | undefined;
  /** Called with the first access token, once in the life of a database. Without it none is made. */
  readonly onFirstToken: ((token: string) => void) | undefined;
}

/**
 * Prepares a database for this version.
 *
 * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` if it does not answer, `SLUICE_DATABASE_UNSUPPORTED` if its server is
 *   too old, `SLUICE_MIGRATION_INVALID` if another version of Sluice has changed it; RulesError if the configured rules
 *   can't be published.
 */
export async function prepareDatabase(
  database: Database,
  plane: ControlPlane,
  { telemetry, rules, onFirstToken }: FirstStartOptions,
): Promise<void> {
  const applied = await migrate(database);
  if (applied.length > 0) telemetry.log.info({ migrations: applied }, "the database was migrated");
  if (rules !== undefined) await publishConfigured(plane.ruleSets, rules, telemetry);
  if (onFirstToken === undefined) return;
  const request = toRequest("the first access token of a new database");
  const token = await plane.accessTokens.createFirst(request);
  if (token !== undefined) onFirstToken(token.secret);
}

async function publishConfigured(
  ruleSets: RuleSets,
  written: WrittenRules,
  { log }: Telemetry,
): Promise<void> {
  const published = await ruleSets.published();
  if (published !== undefined) {
    const { number: version } = published;
    log.info({ version }, "rules come from the database; those of the configuration are not used");
    return;
  }
  const reason = "nothing was published yet: the rules of the configuration";
  const version = await ruleSets.publishFirst(toRequest(reason), {
    text: toText(written),
    note: "from the configuration",
  });
  if (version !== undefined)
    log.info({ version: version.number }, "the rules of the configuration were published");
}

/** Rules as a rule set has them. */
function toText(written: WrittenRules): string {
  return "text" in written ? written.text : `${JSON.stringify(written.inline, undefined, 2)}\n`;
}

function toRequest(reason: string): ChangeRequest {
  return { id: newSecret().toString("base64url"), actor: ACTOR, origin: "local", reason };
}
