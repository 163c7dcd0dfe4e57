// RateLimitRequest on the wire, both ways: the service reads it, clients in tests and benchmarks write it.

import type { Descriptor, DescriptorEntry, LimitOverride, RateLimitRequest } from "../messages.js";
import { WIRE, WireReader } from "./reader.js";
import { WireWriter } from "./writer.js";

const { varint, bytes } = WIRE;

/** Fields of the messages, each as it begins on the wire. */
const REQUEST = { domain: (1 << 3) | bytes, descriptor: (2 << 3) | bytes, hits: (3 << 3) | varint };
const DESCRIPTOR = {
  entry: (1 << 3) | bytes,
  limit: (2 << 3) | bytes,
  hits: (3 << 3) | bytes,
  isNegative: (4 << 3) | varint,
};
const ENTRY = { key: (1 << 3) | bytes, value: (2 << 3) | bytes };
const LIMIT = { requestsPerUnit: (1 << 3) | varint, unit: (2 << 3) | varint };
const WRAPPED = { value: (1 << 3) | varint };

/**
 * Reads a request. Fields that are not known are skipped; of a field that comes twice the last one counts,
 * and messages are joined.
 *
 * @throws MalformedError if the bytes are not a message.
 */
export function decodeRequest(message: Buffer): RateLimitRequest {
  const reader = new WireReader(message);
  const descriptors: Descriptor[] = [];
  let domain = "";
  let hits = 0;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === REQUEST.descriptor) descriptors.push(readDescriptor(reader));
    else if (tag === REQUEST.domain) domain = reader.text();
    else if (tag === REQUEST.hits) hits = reader.uint32();
    else reader.skip(tag);
  }
  return { domain, descriptors, hits };
}

function readDescriptor(reader: WireReader): Descriptor {
  const outer = reader.enter();
  const entries: DescriptorEntry[] = [];
  let limit: LimitOverride | undefined;
  let hits: number | undefined;
  let isNegative = false;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === DESCRIPTOR.entry) entries.push(readEntry(reader));
    else if (tag === DESCRIPTOR.limit) limit = readLimit(reader, limit);
    else if (tag === DESCRIPTOR.hits) hits = readWrapped(reader, hits);
    else if (tag === DESCRIPTOR.isNegative) isNegative = reader.uint64() !== 0;
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { entries, limit, hits, isNegative };
}

function readEntry(reader: WireReader): DescriptorEntry {
  const outer = reader.enter();
  let key = "";
  let value = "";
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === ENTRY.key) key = reader.text();
    else if (tag === ENTRY.value) value = reader.text();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { key, value };
}

function readLimit(reader: WireReader, before: LimitOverride | undefined): LimitOverride {
  const outer = reader.enter();
  let requestsPerUnit = before?.requestsPerUnit ?? 0;
  let unit = before?.unit ?? 0;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === LIMIT.requestsPerUnit) requestsPerUnit = reader.uint32();
    else if (tag === LIMIT.unit) unit = reader.uint32();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { requestsPerUnit, unit };
}

/** A number that says whether it is there: 0 if its message is empty. */
function readWrapped(reader: WireReader, before = 0): number {
  const outer = reader.enter();
  let value = before;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === WRAPPED.value) value = reader.uint64();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return value;
}

const writer = new WireWriter();

/** Writes a request. */
export function encodeRequest({ domain, descriptors, hits }: RateLimitRequest): Buffer {
  writer.start();
  writer.text(1, domain);
  for (const descriptor of descriptors) writeDescriptor(descriptor);
  writer.number(3, hits);
  return writer.finish();
}

function writeDescriptor({ entries, limit, hits, isNegative }: Descriptor): void {
  const descriptor = writer.open(2);
  for (const { key, value } of entries) {
    const entry = writer.open(1);
    writer.text(1, key);
    writer.text(2, value);
    writer.close(entry);
  }
  if (limit !== undefined) {
    const override = writer.open(2);
    writer.number(1, limit.requestsPerUnit);
    writer.number(2, limit.unit);
    writer.close(override);
  }
  if (hits !== undefined) {
    const wrapped = writer.open(3);
    writer.number(1, hits);
    writer.close(wrapped);
  }
  writer.number(4, isNegative ? 1 : 0);
  writer.close(descriptor);
}
