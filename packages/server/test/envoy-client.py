# A client of the rate limit service that shares nothing with it: the gRPC of another language, and messages
# that are written and read here, byte by byte. Takes an address, prints what it was told as one line of JSON.

import json
import sys

import grpc


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number % 128 + 128)
        number //= 128
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field * 8) + varint(value)


def message(field, value):
    return varint(field * 8 + 2) + varint(len(value)) + value


def text(field, value):
    return message(field, value.encode())


def read(data):
    """The fields of a message: [number, value], with the bytes of messages as they are."""
    fields, at = [], 0

    def read_varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = read_varint()
        if tag % 8 == 0:
            fields.append((tag // 8, read_varint()))
        elif tag % 8 == 2:
            length = read_varint()
            fields.append((tag // 8, data[at : at + length]))
            at += length
        else:
            raise ValueError(f"wire type {tag % 8}")
    return fields


def descriptor(*entries):
    return b"".join(message(1, text(1, key) + text(2, value)) for key, value in entries)


def read_status(data):
    fields = dict(read(data))
    limit = dict(read(fields.get(2, b"")))
    return {
        "code": fields.get(1, 0),
        "requestsPerUnit": limit.get(1, 0),
        "unit": limit.get(2, 0),
        "name": limit.get(3, b"").decode(),
        "remaining": fields.get(3, 0),
        "resetSeconds": dict(read(fields.get(4, b""))).get(1, 0),
    }


def read_response(data):
    fields = read(data)
    headers = [dict(read(value)) for field, value in fields if field == 3]
    return {
        "overallCode": dict(fields).get(1, 0),
        "statuses": [read_status(value) for field, value in fields if field == 2],
        "headers": {header[1].decode(): header[2].decode() for header in headers},
    }


def main(address):
    out = {}
    with grpc.insecure_channel(address) as channel:
        limit = channel.unary_unary("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        ask = text(1, "web") + message(2, descriptor(("user", "zoë"), ("path", "/x")))
        out["answers"] = [read_response(limit(ask, timeout=10)) for _ in range(3)]
        try:
            limit(text(1, ""), timeout=10)
        except grpc.RpcError as error:
            out["refused"] = error.code().name
        out["health"] = [dict(read(check(text(1, name), timeout=10)))[1] for name in ("", "ratelimit")]
        try:
            check(text(1, "other"), timeout=10)
        except grpc.RpcError as error:
            out["unknown"] = error.code().name
        states = watch(b"", timeout=10)
        out["watched"] = dict(read(next(states)))[1]
        states.cancel()
    print(json.dumps(out))


main(sys.argv[1])
