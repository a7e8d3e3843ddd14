"""Checks JSON by a schema, with those words of JSON Schema that our schemas use. (Only the standard library is allowed here, docs/adr/0002.)"""

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
WORDS = {"$schema", "description", "type", "required", "properties", "additionalProperties", "items", "const", "enum", "minimum", "minLength",
         "minItems", "oneOf"}


def check(value, schema, at="$"):
    """Raises ValueError that names the place, if the value is not what the schema says."""
    if unknown := set(schema) - WORDS:
        raise ValueError(f"schema: {at}: cannot check {', '.join(sorted(unknown))}")
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]]) or isinstance(value, bool)):
        raise ValueError(f"{at}: {value!r} is no {schema['type']}")
    if "const" in schema and value != schema["const"]:
        raise ValueError(f"{at}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"{at}: {value!r} is none of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"]:
        raise ValueError(f"{at}: {value!r} is below {schema['minimum']}")
    if len(value) < schema.get("minLength", schema.get("minItems", 0)) if isinstance(value, (str, list)) else False:
        raise ValueError(f"{at}: {value!r} is too short")
    if isinstance(value, dict):
        check_members(value, schema, at)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            check(item, schema["items"], f"{at}[{index}]")
    if "oneOf" in schema:
        check_one(value, schema["oneOf"], at)


def check_members(value, schema, at):
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            raise ValueError(f"{at}: {name} is missing")
    for name, member in value.items():
        if name in properties:
            check(member, properties[name], f"{at}.{name}")
        elif schema.get("additionalProperties", True) is False:
            raise ValueError(f"{at}: unexpected {name}")


def check_one(value, schemas, at):
    reasons = []
    for one in schemas:
        try:
            check(value, one, at)
        except ValueError as why:
            reasons.append(str(why))
    if len(schemas) - len(reasons) != 1:
        raise ValueError(f"{at}: {len(schemas) - len(reasons)} of the {len(schemas)} forms fit: {'; '.join(reasons)}")
