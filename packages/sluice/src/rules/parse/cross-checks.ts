// Checks the fields of one rule against each other. Each problem names the field and the reason.

import type { Spot } from "../../base/shapes/shapes.js";
import { isShaper, type Limit } from "../../limits/limits.js";
import { whyNotMerged } from "../../stores/regions/merged/merge-windows.js";
import { describeKey } from "../identity-keys/key.js";
import type { Dimension, Rule } from "../rule.js";

/** What was written, where the parsed rule no longer shows it. */
export interface WrittenBounds {
  readonly delayMsMax: number | undefined;
  readonly windowJitter: boolean;
}

/** Reports everything that does not go together. */
export function checkRule(rule: Rule, given: WrittenBounds, spot: Spot): void {
  const all = allLimits(rule, spot);
  checkKey(rule, spot);
  checkLimits(rule, all, spot);
  checkCost(rule, all, spot);
  checkDelay(rule, given, all, spot);
  checkChallenge(rule, all, spot);
  checkLeases(rule, all);
  checkShards(rule, all, spot);
  checkSketches(rule, spot);
  checkDurable(rule, spot);
  checkAcross(rule, all, spot);
  checkQuotas(rule, all);
  checkJitter(given, all, spot);
  checkEscalate(rule, spot);
}

/** Reports limits that would not go together with the rest of a rule that they are added to. */
export function checkAddedLimits(rule: Rule, limits: readonly Limit[], spot: Spot): void {
  const all = toPlaced(limits, spot);
  checkRepeated(limits, spot);
  checkCost(rule, all, spot);
  const delayMsMax = rule.onExceed === "delay" ? rule.delayMsMax : undefined;
  checkDelay(rule, { delayMsMax, windowJitter: false }, all, spot);
  checkChallenge(rule, all, spot);
  checkLeases(rule, all);
  checkShards(rule, all, spot);
  refuseSketches(all);
  checkShared(rule, all);
  checkLeasedAcross(rule, all);
  checkQuotas(rule, all);
}

/** A limit, and where it stands. */
interface PlacedLimit {
  readonly limit: Limit;
  readonly spot: Spot;
}

function allLimits({ limits, tiers, overrides }: Rule, spot: Spot): readonly PlacedLimit[] {
  const each = (lists: ReadonlyMap<string, readonly Limit[]>, at: Spot) =>
    [...lists].flatMap(([name, list]) => toPlaced(list, at.in(name)));
  return [
    ...toPlaced(limits, spot.in("limit")),
    ...each(tiers, spot.in("tiers")),
    ...each(overrides, spot.in("overrides")),
  ];
}

function toPlaced(limits: readonly Limit[], spot: Spot): readonly PlacedLimit[] {
  return limits.map((limit, i) => ({ limit, spot: limits.length === 1 ? spot : spot.in(i) }));
}

function checkKey({ key }: Rule, spot: Spot): void {
  const repeated = findRepeated(key.map((dimension) => describeKey([dimension])));
  if (repeated !== undefined) spot.in("key").say(`names ${repeated} twice`);
}

function checkLimits(
  { limits, tiers, overrides, requestPriority }: Rule,
  all: readonly PlacedLimit[],
  spot: Spot,
): void {
  // A rule may be there for the priority of its requests alone.
  if (all.length === 0 && requestPriority === undefined)
    spot.in("limit").say("is unlimited, and no tier or override limits anything");
  checkRepeated(limits, spot.in("limit"));
  for (const [name, list] of tiers) checkRepeated(list, spot.in("tiers").in(name));
  for (const [name, list] of overrides) checkRepeated(list, spot.in("overrides").in(name));
}

function checkRepeated(limits: readonly Limit[], spot: Spot): void {
  if (limits.length < 2) return;
  const repeated = findRepeated(limits.map((limit) => JSON.stringify(limit)));
  if (repeated !== undefined) spot.say("holds the same limit twice");
}

/** A constant cost has to count, and has to fit. */
function checkCost({ cost, settle }: Rule, all: readonly PlacedLimit[], spot: Spot): void {
  if (cost.kind !== "constant") return;
  const at = spot.in("cost");
  if (cost.units === 0 && settle === undefined) {
    at.say("is 0, so nothing would ever be counted; a cost of 0 needs settle");
  }
  for (const { limit } of all) {
    if (limit.algorithm === "concurrency" || cost.units <= limit.capacity) continue;
    at.say(`is ${cost.units}, which a ${limit.algorithm} of ${limit.capacity} units never admits`);
    return;
  }
}

function checkDelay(
  rule: Rule,
  given: WrittenBounds,
  all: readonly PlacedLimit[],
  spot: Spot,
): void {
  if (rule.onExceed !== "delay") {
    if (given.delayMsMax !== undefined) spot.in("delayMsMax").say("needs onExceed: delay");
    return;
  }
  const at = spot.in("onExceed");
  if (given.delayMsMax === undefined) at.say("is delay, which needs delayMsMax");
  if (rule.consistency !== "strict" && rule.consistency !== "local") {
    at.say(`is delay, which needs consistency strict or local, got ${rule.consistency}`);
  }
  if (rule.shards > 1) at.say("is delay, which can't be split into shards");
  for (const { limit, spot: place } of all) {
    if (limit.algorithm === "tokenBucket") continue;
    const why = isShaper(limit) ? "which delays by itself" : "which has no queue to wait in";
    place.say(`is a ${limit.algorithm}, ${why}; onExceed: delay needs a tokenBucket`);
  }
}

/** A pass gives units back, to the caller that solved the challenge. */
function checkChallenge(rule: Rule, all: readonly PlacedLimit[], spot: Spot): void {
  const { onExceed, passUnits, cost, durable, key } = rule;
  if (onExceed !== "challenge") {
    if (passUnits !== undefined) spot.in("passUnits").say("needs onExceed: challenge");
    return;
  }
  const at = spot.in("onExceed");
  if (durable !== undefined) at.say("is challenge, but a durable quota is not given back");
  if (key.some(({ kind }) => kind === "global")) {
    at.say("is challenge, but key is global: the pass of one caller would lift the limit of all");
  }
  if (passUnits !== undefined && cost.kind === "constant" && cost.units > passUnits) {
    const why = `is ${passUnits}, less than the ${cost.units} units that a request costs`;
    spot.in("passUnits").say(why);
  }
  for (const { limit, spot: place } of all) {
    if (limit.algorithm !== "concurrency" && !isShaper(limit)) continue;
    const what = isShaper(limit) ? "a leakyBucket that shapes" : "a concurrency limit";
    place.say(`is ${what}, which a pass can't give back; use onExceed: reject`);
  }
}

function checkLeases({ consistency }: Rule, all: readonly PlacedLimit[]): void {
  if (consistency !== "leased" && consistency !== "eventual") return;
  for (const { limit, spot } of all) {
    if (limit.algorithm !== "concurrency" && !isShaper(limit)) continue;
    const what = isShaper(limit) ? "a leakyBucket that shapes" : "a concurrency limit";
    spot.say(`is ${what}, which can't be ${consistency}; use consistency: strict or local`);
  }
}

/** Kinds of keys that are one caller's own: all its requests would meet one shard. */
const OWN_KINDS: readonly Dimension["kind"][] = ["user", "apiKey", "ip", "cookie", "body"];

function checkShards({ shards, key, cost }: Rule, all: readonly PlacedLimit[], spot: Spot): void {
  if (shards === 1) return;
  const own = key.find(({ kind }) => OWN_KINDS.includes(kind));
  if (own !== undefined) {
    const why =
      "whose caller would only ever meet one of the shards; use them for keys that many share";
    spot.in("shards").say(`can't split a key by ${describeKey([own])}, ${why}`);
  }
  const least = cost.kind === "constant" ? Math.max(1, cost.units) : 1;
  for (const { limit, spot: place } of all) {
    if (limit.algorithm === "fixedWindow" && limit.align !== "epoch") {
      const windows = limit.align === "key" ? "is aligned by key" : "starts with the first request";
      place.say(`${windows}, which can't be split into shards`);
    }
    const part = Math.floor(limit.capacity / shards);
    const needed = limit.algorithm === "concurrency" ? 1 : least;
    if (part >= needed) continue;
    place.say(
      `has ${limit.capacity} units, too few for ${shards} shards of at least ${needed} each`,
    );
  }
}

/** A sketch is counted in this process, for many keys together. */
function checkSketches({ limits, tiers, overrides, consistency, shards }: Rule, spot: Spot): void {
  for (const [name, list] of overrides)
    refuseSketches(toPlaced(list, spot.in("overrides").in(name)));
  const all = [...limits, ...[...tiers.values()].flat()];
  if (!all.some(isSketch)) return;
  if (consistency !== "local") {
    const why = "but a sketch is counted in this process";
    spot.in("consistency").say(`is ${consistency}, ${why}; use local, or another kind of limit`);
  }
  if (shards > 1) spot.in("shards").say("can't split a sketch, which takes any number of keys");
}

/** An override or an exception is about one key, which would have a sketch of its own. */
function refuseSketches(all: readonly PlacedLimit[]): void {
  for (const { limit, spot } of all) {
    if (!isSketch(limit)) continue;
    spot.say("is a sketch, which counts many keys; use a fixedWindow for a single one");
  }
}

/** Whether a limit is counted in a sketch. */
export function isSketch({ algorithm }: Limit): boolean {
  return algorithm === "sketch";
}

function checkDurable({ durable, consistency, shards }: Rule, spot: Spot): void {
  if (durable === undefined) return;
  if (consistency !== "strict" && consistency !== "leased") {
    const why = "which a durable rule can't be: a ledger is never behind";
    spot.in("consistency").say(`is ${consistency}, ${why}; use strict or leased`);
  }
  if (shards > 1) spot.in("shards").say("can't split a durable rule: a ledger has one account");
}

/** What counts in this process, or lags behind, can't keep what is promised across regions. */
function checkAcross(rule: Rule, all: readonly PlacedLimit[], spot: Spot): void {
  const { across, consistency, durable } = rule;
  if (across === undefined) return;
  const at = spot.in("across");
  if (durable !== undefined) {
    at.say(`is ${across}, but a durable rule has one ledger for all regions; remove across`);
  }
  if (consistency !== "strict" && consistency !== "leased") {
    at.say(`is ${across}, which needs consistency strict or leased, got ${consistency}`);
  }
  checkShared(rule, all);
  checkLeasedAcross(rule, all);
}

/** Whether limits can be leased between regions: not places in a queue, permits, or windows that each key starts. */
function checkLeasedAcross({ across }: Rule, all: readonly PlacedLimit[]): void {
  if (across !== "leased") return;
  const why = "can't be leased between regions; use across: central";
  for (const { limit, spot } of all) {
    if (isShaper(limit)) spot.say(`is a leakyBucket that shapes, which ${why} or mode: meter`);
    if (limit.algorithm === "concurrency") spot.say(`is a concurrency limit, which ${why}`);
    if (limit.algorithm === "fixedWindow" && limit.align === "first") {
      spot.say(`starts with the first request, which ${why} or align: epoch or key`);
    }
  }
}

/** Whether limits can be shared between regions. */
function checkShared({ across }: Rule, all: readonly PlacedLimit[]): void {
  if (across === "merged") {
    for (const { limit, spot } of all) {
      const why = whyNotMerged(limit);
      if (why !== undefined) spot.say(why);
    }
  }
  if (across !== "split") return;
  for (const { limit, spot } of all) {
    if (isShaper(limit)) {
      const why = "each region would space its own requests; use mode: meter or across: central";
      spot.say(`is a leakyBucket that shapes, which can't be split between regions: ${why}`);
    }
    if (limit.algorithm === "fixedWindow" && limit.align === "first") {
      const why = "each region would have windows of its own; use align: epoch or key";
      spot.say(`starts with the first request, which can't be split between regions: ${why}`);
    }
  }
}

/** A ledger has accounts by period, and only a ledger knows how a quota changed in mid-period. */
function checkQuotas({ durable }: Rule, all: readonly PlacedLimit[]): void {
  for (const { limit, spot } of all) {
    if (durable !== undefined && limit.algorithm !== "quota") {
      const how = `{ quota: { limit: ${limit.capacity}, period: month } }`;
      spot.say(`is a ${limit.algorithm}; a durable rule has quotas only, such as ${how}`);
    }
    if (durable === undefined && limit.algorithm === "quota" && limit.prorate === true) {
      spot.in("quota").in("prorate").say("needs a durable rule: add durable: true to it");
    }
  }
}

function checkJitter(
  { windowJitter }: WrittenBounds,
  all: readonly PlacedLimit[],
  spot: Spot,
): void {
  if (!windowJitter || all.some(({ limit }) => limit.algorithm === "fixedWindow")) return;
  spot.in("windowJitter").say("needs a fixedWindow; other limits have no common border");
}

/** Parts of a key that name no caller. */
const SHARED_KINDS: readonly Dimension["kind"][] = ["global", "endpoint"];

/** A block hits everybody who shares the key. */
function checkEscalate({ escalate, key, durable, shards }: Rule, spot: Spot): void {
  if (escalate === undefined) return;
  const at = spot.in("escalate");
  if (key.every(({ kind }) => SHARED_KINDS.includes(kind))) {
    at.say(`would block all callers, because the rule counts by ${describeKey(key)}`);
  }
  if (shards > 1) at.say("can't be used with shards, whose key many callers share");
  if (durable !== undefined) {
    at.say("can't be used on a durable rule; put it on a rule without durable");
  }
}

function findRepeated(texts: readonly string[]): string | undefined {
  return texts.find((text, i) => texts.indexOf(text) !== i);
}
