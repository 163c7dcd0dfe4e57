// When API keys were last used, in the database of the control plane. It is not part of the state and not audited: no
// node decides by it.

import { wallMs } from "../../base/clock.js";
import type { Database, Reader, Row } from "../../database/database.js";
import { statements } from "../sql/statements.js";
import { hourOf, type LastUses } from "./key-uses.js";

/** Which keys: all from the first to the last id, or those of a tenant among them. */
export interface KeyRange {
  readonly tenant?: string | undefined;
  readonly firstId: string;
  readonly lastId: string;
}

interface UseRow extends Row {
  readonly key_id: string;
  readonly hour: number;
}

/**
 * Stores hours, each unless a later one is stored. An hour that has not come counts as this one, and a key that is not
 * there is passed over.
 *
 * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` or `SLUICE_DATABASE_FAILED`: then nothing is stored.
 */
export async function writeLastUses(
  database: Database,
  uses: LastUses,
  now: () => number = wallMs,
): Promise<void> {
  const hourMax = hourOf(now());
  // In one order on every node, so that two of them never wait for each other.
  const ids = [...uses.keys()].sort();
  await database.transaction(async (tx) => {
    for (const id of ids) {
      await tx.query(statements.writeKeyUse, [id, Math.min(uses.get(id) ?? 0, hourMax)]);
    }
  });
}

/** The hours that are stored, by the id of a key; keys that were never used are not in it. */
export async function readLastUses(reader: Reader, range: KeyRange): Promise<LastUses> {
  const { tenant, firstId, lastId } = range;
  const rows =
    tenant === undefined
      ? await reader.query<UseRow>(statements.listKeyUses, [firstId, lastId])
      : await reader.query<UseRow>(statements.listKeyUsesOfTenant, [tenant, firstId, lastId]);
  return new Map(rows.map(({ key_id, hour }) => [key_id, hour]));
}
