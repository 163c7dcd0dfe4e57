// google.protobuf.Struct on the wire, both ways: JSON as protocol buffers carry it.

import type { JsonObject, JsonValue } from "../messages.js";
import { WIRE, type WireReader } from "./reader.js";
import type { WireWriter } from "./writer.js";

const { varint, fixed64, bytes } = WIRE;

/** Writes an object as this field. */
export function writeStruct(writer: WireWriter, field: number, object: JsonObject): void {
  const struct = writer.open(field);
  for (const [name, value] of Object.entries(object)) {
    const pair = writer.open(1);
    writer.text(1, name);
    writeValue(writer, 2, value);
    writer.close(pair);
  }
  writer.close(struct);
}

/** A value has exactly one field, which is written even if it is empty. */
function writeValue(writer: WireWriter, field: number, value: JsonValue): void {
  const outer = writer.open(field);
  if (value === null) writer.number(1, 0, true);
  else if (typeof value === "number") writer.double(2, value);
  else if (typeof value === "string") writer.text(3, value, true);
  else if (typeof value === "boolean") writer.number(4, Number(value), true);
  else if (isList(value)) writeList(writer, 6, value);
  else writeStruct(writer, 5, value);
  writer.close(outer);
}

function writeList(writer: WireWriter, field: number, values: readonly JsonValue[]): void {
  const list = writer.open(field);
  for (const value of values) writeValue(writer, 1, value);
  writer.close(list);
}

function isList(value: JsonObject | readonly JsonValue[]): value is readonly JsonValue[] {
  return Array.isArray(value);
}

const STRUCT = { pair: (1 << 3) | bytes };
const PAIR = { name: (1 << 3) | bytes, value: (2 << 3) | bytes };
const VALUE = {
  number: (2 << 3) | fixed64,
  text: (3 << 3) | bytes,
  truth: (4 << 3) | varint,
  struct: (5 << 3) | bytes,
  list: (6 << 3) | bytes,
};
const LIST = { value: (1 << 3) | bytes };

/**
 * Reads an object, of an answer that can be trusted to be nested no deeper than it was written.
 *
 * @throws MalformedError if the bytes are not a message.
 */
export function readStruct(reader: WireReader): JsonObject {
  const outer = reader.enter();
  const pairs: [string, JsonValue][] = [];
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === STRUCT.pair) pairs.push(readPair(reader));
    else reader.skip(tag);
  }
  reader.leave(outer);
  return Object.fromEntries(pairs);
}

function readPair(reader: WireReader): [string, JsonValue] {
  const outer = reader.enter();
  let name = "";
  let value: JsonValue = null;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === PAIR.name) name = reader.text();
    else if (tag === PAIR.value) value = readValue(reader);
    else reader.skip(tag);
  }
  reader.leave(outer);
  return [name, value];
}

function readValue(reader: WireReader): JsonValue {
  const outer = reader.enter();
  let value: JsonValue = null;
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === VALUE.number) value = reader.double();
    else if (tag === VALUE.text) value = reader.text();
    else if (tag === VALUE.truth) value = reader.uint32() === 1;
    else if (tag === VALUE.struct) value = readStruct(reader);
    else if (tag === VALUE.list) value = readList(reader);
    else reader.skip(tag);
  }
  reader.leave(outer);
  return value;
}

function readList(reader: WireReader): readonly JsonValue[] {
  const outer = reader.enter();
  const values: JsonValue[] = [];
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag === LIST.value) values.push(readValue(reader));
    else reader.skip(tag);
  }
  reader.leave(outer);
  return values;
}
