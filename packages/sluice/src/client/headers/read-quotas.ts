// Finds the headers in which a response reports its quotas. Reading a header costs, and most responses of an origin
// have the same ones, so each origin has a reader that remembers what it found.

import type { HeaderSource } from "./header-source.js";
import { parseWhole } from "./header-times.js";
import type { QuotaReport } from "./quota-report.js";
import { readRateLimit, readRateLimitRemaining } from "./rate-limit-fields.js";
import {
  readAnthropic,
  readOpenAi,
  readXRateLimit,
  readXRateLimitSpelled,
} from "./vendor-headers.js";

type ReadForm = (headers: HeaderSource, wallMs: number) => readonly QuotaReport[];

/** The forms, those that say most first: a response that has several says the same in each. */
const FORMS: readonly ReadForm[] = [
  readRateLimit,
  readRateLimitRemaining,
  readXRateLimit,
  readXRateLimitSpelled,
  readOpenAi,
  readAnthropic,
];

/** After this many responses without any form, only one in as many is searched, and each refusal. */
const SEARCHES_MIN = 8;

/** Reads the quotas that the responses of one origin report. */
export class QuotaReader {
  #form: ReadForm | undefined;
  #missed = 0;

  /**
   * What a response reports; empty if nothing, or if it comes from a cache, where the numbers are those of another
   * request. `isRefusal` makes it search through all forms.
   */
  read(headers: HeaderSource, wallMs: number, isRefusal: boolean): readonly QuotaReport[] {
    const isRare = this.#missed >= SEARCHES_MIN && this.#missed % SEARCHES_MIN !== 0;
    if (this.#form === undefined && isRare && !isRefusal) {
      this.#missed++;
      return [];
    }
    const found = this.#form?.(headers, wallMs) ?? [];
    const reports = found.length > 0 ? found : this.#search(headers, wallMs);
    return reports.length > 0 && isCached(headers) ? [] : reports;
  }

  #search(headers: HeaderSource, wallMs: number): readonly QuotaReport[] {
    for (const form of FORMS) {
      const reports = form(headers, wallMs);
      if (reports.length === 0) continue;
      this.#form = form;
      this.#missed = 0;
      return reports;
    }
    this.#missed++;
    if (this.#missed >= SEARCHES_MIN) this.#form = undefined;
    return [];
  }
}

/** An Age of 0 is what some proxies add to a response that they have just fetched. */
function isCached(headers: HeaderSource): boolean {
  return (parseWhole(headers.get("age") ?? "") ?? 0) > 0;
}
