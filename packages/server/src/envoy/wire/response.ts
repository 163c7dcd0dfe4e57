// RateLimitResponse on the wire, both ways: the service writes it, clients in tests read it.

import {
  CODE,
  type Code,
  type CurrentLimit,
  type DescriptorStatus,
  type EnvoyHeader,
  type JsonObject,
  type RateLimitResponse,
} from "../messages.js";
import { WIRE, WireReader } from "./reader.js";
import { readStruct, writeStruct } from "./struct.js";
import { WireWriter } from "./writer.js";

const { varint, bytes } = WIRE;
const writer = new WireWriter();

/** Encoded refusals: those of a flood are one object for a second at a time (see answer.ts). */
const written = new WeakMap<RateLimitResponse, Buffer>();

/** Writes a response. */
export function encodeResponse(response: RateLimitResponse): Buffer {
  // Responses for several descriptors are never shared.
  if (response.overallCode !== CODE.overLimit || response.statuses.length > 1) {
    return write(response);
  }
  const known = written.get(response);
  if (known !== undefined) return known;
  const bytes = write(response);
  written.set(response, bytes);
  return bytes;
}

function write(response: RateLimitResponse): Buffer {
  writer.start();
  writer.number(1, response.overallCode);
  for (const status of response.statuses) writeStatus(status);
  writeHeaders(3, response.responseHeaders);
  if (response.requestHeaders !== undefined) writeHeaders(4, response.requestHeaders);
  if (response.dynamicMetadata !== undefined) writeStruct(writer, 6, response.dynamicMetadata);
  return writer.finish();
}

function writeHeaders(field: number, headers: readonly EnvoyHeader[]): void {
  for (const { key, value } of headers) {
    const header = writer.open(field);
    writer.text(1, key);
    writer.text(2, value);
    writer.close(header);
  }
}

function writeStatus({ code, currentLimit, remaining, resetSeconds }: DescriptorStatus): void {
  const status = writer.open(2);
  writer.number(1, code);
  if (currentLimit !== undefined) {
    const limit = writer.open(2);
    writer.number(1, currentLimit.requestsPerUnit);
    writer.number(2, currentLimit.unit);
    writer.text(3, currentLimit.name);
    writer.close(limit);
  }
  writer.number(3, remaining);
  if (resetSeconds !== undefined) {
    const duration = writer.open(4);
    writer.number(1, resetSeconds);
    writer.close(duration);
  }
  writer.close(status);
}

const RESPONSE = {
  overallCode: (1 << 3) | varint,
  status: (2 << 3) | bytes,
  responseHeader: (3 << 3) | bytes,
  requestHeader: (4 << 3) | bytes,
  dynamicMetadata: (6 << 3) | bytes,
};
const STATUS = {
  code: (1 << 3) | varint,
  currentLimit: (2 << 3) | bytes,
  remaining: (3 << 3) | varint,
  reset: (4 << 3) | bytes,
};
const LIMIT = {
  requestsPerUnit: (1 << 3) | varint,
  unit: (2 << 3) | varint,
  name: (3 << 3) | bytes,
};
const DURATION = { seconds: (1 << 3) | varint };
const HEADER = { key: (1 << 3) | bytes, value: (2 << 3) | bytes };

/**
 * Reads a response.
 *
 * @throws MalformedError if the bytes are not a message.
 */
export function decodeResponse(message: Buffer): RateLimitResponse {
  const reader = new WireReader(message);
  const statuses: DescriptorStatus[] = [];
  const responseHeaders: EnvoyHeader[] = [];
  const requestHeaders: EnvoyHeader[] = [];
  let dynamicMetadata: JsonObject | undefined;
  let overallCode: Code = 0;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === RESPONSE.overallCode) overallCode = reader.uint32() as Code;
    else if (tag === RESPONSE.status) statuses.push(readStatus(reader));
    else if (tag === RESPONSE.responseHeader) responseHeaders.push(readHeader(reader));
    else if (tag === RESPONSE.requestHeader) requestHeaders.push(readHeader(reader));
    else if (tag === RESPONSE.dynamicMetadata) dynamicMetadata = readStruct(reader);
    else reader.skip(tag);
  }
  return {
    overallCode,
    statuses,
    responseHeaders,
    ...(requestHeaders.length === 0 ? {} : { requestHeaders }),
    ...(dynamicMetadata === undefined ? {} : { dynamicMetadata }),
  };
}

function readStatus(reader: WireReader): DescriptorStatus {
  const outer = reader.enter();
  let code: Code = 0;
  let currentLimit: CurrentLimit | undefined;
  let remaining = 0;
  let resetSeconds: number | undefined;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === STATUS.code) code = reader.uint32() as Code;
    else if (tag === STATUS.currentLimit) currentLimit = readLimit(reader);
    else if (tag === STATUS.remaining) remaining = reader.uint32();
    else if (tag === STATUS.reset) resetSeconds = readSeconds(reader);
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { code, currentLimit, remaining, resetSeconds };
}

function readLimit(reader: WireReader): CurrentLimit {
  const outer = reader.enter();
  let requestsPerUnit = 0;
  let unit = 0;
  let name = "";
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === LIMIT.requestsPerUnit) requestsPerUnit = reader.uint32();
    else if (tag === LIMIT.unit) unit = reader.uint32();
    else if (tag === LIMIT.name) name = reader.text();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { requestsPerUnit, unit, name };
}

function readSeconds(reader: WireReader): number {
  const outer = reader.enter();
  let seconds = 0;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === DURATION.seconds) seconds = reader.uint64();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return seconds;
}

function readHeader(reader: WireReader): EnvoyHeader {
  const outer = reader.enter();
  let key = "";
  let value = "";
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === HEADER.key) key = reader.text();
    else if (tag === HEADER.value) value = reader.text();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { key, value };
}
