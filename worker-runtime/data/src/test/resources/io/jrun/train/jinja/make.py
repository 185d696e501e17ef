#!/usr/bin/env python3
"""Writes cases.jsonl: templates, their variables, and what Python's jinja2 makes of them. Needs python3-jinja2.

The environment is that of Hugging Face's apply_chat_template. The templates have the forms of the templates of known
models (ChatML, Llama 3, Mistral, Gemma, Zephyr) and were written for this test. expressions.txt has short templates
with a line of four dashes between them. Python writes tuples with parentheses, jrun with brackets: no case prints one.
"""
import datetime
import json
import pathlib

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent
CALL = {"id": "abcdef123", "type": "function", "function": {"name": "weather", "arguments": {"city": "Bern", "days": 3, "at": None}}}
TOOL = {"type": "function", "function": {"name": "weather", "description": "é \"now\"", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}
CHATS = [
    [("user", "Hi there "), ("assistant", " Hello!\nWhat?"), ("user", "Bye"), ("assistant", "So long")],
    [("system", " You are kind. "), ("user", "a 'quote' \"x\" é"), ("assistant", "ok")],
    [("user", "one")],
    [("user", "one"), ("user", "two")],
    [("critic", "one")],
]
VALUES = {"a": 3, "b": [1, 2, 3, "x"], "s": " Hello World ", "d": {"k": "v", "n": None, "z": 1.5}, "t": True, "n": None,
          "users": [{"name": "bob", "age": 5}, {"name": "al", "age": 3}], "empty": []}


class Generation(Extension):
    """The block that marks answers."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("body"), [], [], body).set_lineno(line)

    def body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def rendered(template, variables):
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = datetime.datetime(2026, 3, 5, 9, 8, 7).strftime
    try:
        return environment.from_string(template).render(**variables)
    except (jinja2.exceptions.TemplateError, TypeError):
        return None


def case(name, template, variables):
    return {"name": name, "template": template, "variables": variables, "text": rendered(template, variables)}


def main():
    cases = []
    chats = [[{"role": role, "content": content} for role, content in chat] for chat in CHATS]
    chats.append([{"role": "user", "content": "w?"}, {"role": "assistant", "content": "", "tool_calls": [CALL]},
                  {"role": "tool", "content": "22", "name": "weather"}, {"role": "assistant", "content": "It is 22"}])
    for path in sorted((HERE / "templates").glob("*.jinja")):
        for number, messages in enumerate(chats):
            for tools in (None, [TOOL]):
                for asks in (False, True):
                    variables = {"messages": messages, "add_generation_prompt": asks, "bos_token": "<s>", "eos_token": "</s>"}
                    if tools:
                        variables["tools"] = tools
                    cases.append(case(f"{path.stem} {number} {bool(tools)} {asks}", path.read_text(), variables))
    for template in (HERE / "expressions.txt").read_text().split("\n----\n"):
        cases.append(case(template, template, VALUES))
    # The templates are in their files: a case has the name of the file only.
    for each in cases:
        if each["name"].split(" ")[0] + ".jinja" in {path.name for path in (HERE / "templates").glob("*")}:
            del each["template"]
        else:
            each["name"] = "expression"
    (HERE / "cases.jsonl").write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in cases))


main()
