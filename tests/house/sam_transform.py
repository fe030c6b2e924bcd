"""Run by SAM's own interpreter: prints template.yaml as CloudFormation's SAM transform leaves it, as JSON.

Arguments: parameters, as ``Name=value``.
"""

import json
import sys
from pathlib import Path

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

template = yaml_parse(Path("template.yaml").read_text(encoding="utf-8"))
for body in template["Resources"].values():
    for code in ("CodeUri", "ContentUri"):
        if code in body.get("Properties", {}):
            body["Properties"][code] = "s3://bucket/code"  # as `sam deploy` has it by then
template["Globals"]["Function"]["CodeUri"] = "s3://bucket/code"
parameters = {name: body["Default"] for name, body in template["Parameters"].items()}
parameters |= dict(argument.split("=", 1) for argument in sys.argv[1:])
translated = Translator({}, Parser()).translate(template, parameters)
print(json.dumps(translated))  # noqa: T201  -- the answer
