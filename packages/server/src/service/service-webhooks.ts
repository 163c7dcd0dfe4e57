// Sends events of quotas to webhooks. Deliveries are kept in the database of the control plane, or in the ledger's own on
// nodes without a control plane.
// It follows the configuration while the service runs.

import type { Config, LedgerConfig } from "../config/config.js";
import type { Database } from "../database/database.js";
import { migrate } from "../database/migrate.js";
import { openDatabase } from "../database/open-database.js";
import { Webhooks, type WebhooksInForce } from "../ledger/webhooks/webhooks.js";
import type { Telemetry } from "../telemetry/telemetry.js";

interface Sending {
  readonly webhooks: Webhooks;
  close(): Promise<void>;
}

/** Sends to the webhooks of a configuration until it is closed; without any, nothing is open. */
export class ServiceWebhooks {
  /** Where the ledger is does not change while the service runs. */
  readonly #url: string | undefined;
  readonly #hasLedger: boolean;
  readonly #shared: Database | undefined;
  readonly #telemetry: Telemetry;
  #sending: Sending | undefined;
  #isClosed = false;

  /**
   * @param shared - The database of the control plane, which stays open; undefined on nodes without one.
   * @throws ServerError if the ledger's own database is a file that can't be opened; what the system says of a `caFile`.
   */
  constructor({ ledger }: Config, shared: Database | undefined, telemetry: Telemetry) {
    this.#url = ledger?.database;
    this.#hasLedger = ledger !== undefined;
    this.#shared = shared;
    this.#telemetry = telemetry;
    this.#sending = this.#start(ledger);
  }

  /** Sends to the webhooks of this configuration from now on. A ledger that comes or goes needs a restart. */
  async reload({ ledger }: Config): Promise<void> {
    if (!this.#hasLedger || ledger === undefined || this.#isClosed) return;
    if (this.#sending === undefined) this.#sending = this.#start(ledger);
    else if (ledger.webhooks.length > 0) this.#sending.webhooks.use(toInForce(ledger));
    else await this.#stop();
  }

  /** Sends no more. What is in flight gets a few seconds. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stop();
  }

  async #stop(): Promise<void> {
    const sending = this.#sending;
    this.#sending = undefined;
    await sending?.close();
  }

  #start(ledger: LedgerConfig | undefined): Sending | undefined {
    if (ledger === undefined || ledger.webhooks.length === 0) return undefined;
    const common = { ...toInForce(ledger), telemetry: this.#telemetry };
    if (this.#shared !== undefined) {
      const webhooks = started(new Webhooks({ database: this.#shared, ...common }));
      return { webhooks, close: () => webhooks.close() };
    }
    if (this.#url === undefined) return undefined;
    // Paths in it are absolute.
    const database = openDatabase(this.#url, "/");
    const webhooks = started(
      new Webhooks({ database, ...common, prepare: () => migrate(database) }),
    );
    return {
      webhooks,
      async close() {
        await webhooks.close();
        await database.close();
      },
    };
  }
}

function toInForce({ webhooks, deliveriesKeptMs: keptMs }: LedgerConfig): WebhooksInForce {
  return { webhooks, keptMs };
}

function started(webhooks: Webhooks): Webhooks {
  webhooks.start();
  return webhooks;
}
