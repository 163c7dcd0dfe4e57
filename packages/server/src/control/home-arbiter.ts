// Arbitrates between regions in the database of the control plane: one row says which region is home, under which epoch, and
// how often that was renewed. Every statement changes it only if it is still what the caller has seen.

import type { ArbitersHome, ArbitersPromotion, HomeArbiter, HomeEpoch } from "sluice/rules";
import type { Config } from "../config/config.js";
import type { Database, Row } from "../database/database.js";
import { statements } from "./sql/statements.js";

interface HomeRow extends Row {
  readonly epoch: number;
  readonly home: string;
  readonly renewals: number;
}

/** Any number of renewals. */
const ANY = -1;

/** An arbiter over a database. */
export class DatabaseArbiter implements HomeArbiter {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async read({ epoch, home }: HomeEpoch): Promise<ArbitersHome> {
    const read = () => this.#database.query<HomeRow>(statements.readHome);
    const [known] = await read();
    if (known !== undefined) return known;
    await this.#database.query(statements.beginHome, [epoch, home]);
    const [begun] = await read();
    return begun;
  }

  async renew({ epoch, home }: HomeEpoch): Promise<boolean> {
    const rows = await this.#database.query(statements.renewHome, [epoch, home]);
    return rows.length > 0;
  }

  async promote({ epoch, to, renewals = ANY }: ArbitersPromotion): Promise<boolean> {
    const rows = await this.#database.query(statements.promoteHome, [epoch, to, renewals]);
    return rows.length > 0;
  }
}

/** Undefined unless this node has the database that arbitrates between regions. */
export function arbiterOf(
  { regions }: Pick<Config, "regions">,
  database: Database | undefined,
): DatabaseArbiter | undefined {
  if (regions?.takeover !== "automatic" || database === undefined) return undefined;
  return new DatabaseArbiter(database);
}
