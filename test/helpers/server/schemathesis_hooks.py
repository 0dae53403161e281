"""Hooks of schemathesis: paths name real things, by the examples of the documents, three times of four."""

import json
import os
import zlib

import schemathesis


def parameters():
    for name in os.environ["DOCUMENTS"].split(os.pathsep):
        with open(name, encoding="utf-8") as file:
            document = json.load(file)
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                for parameter in operation["parameters"]:
                    if parameter.get("in") == "path" and "example" in parameter:
                        yield (method, path, parameter["name"]), parameter["example"]


EXAMPLES = dict(parameters())


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    operation = context.operation
    for name, value in list((path_parameters or {}).items()):
        example = EXAMPLES.get((operation.method, operation.path, name))
        if example is not None and zlib.crc32(repr(value).encode()) % 4:
            path_parameters[name] = example
    return path_parameters


@schemathesis.hook
def map_headers(context, headers):
    """Without tenants, the header is refused."""
    return {name: value for name, value in (headers or {}).items() if name.lower() != "tenant-id"}
