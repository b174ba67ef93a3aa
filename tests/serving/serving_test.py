#!/usr/bin/env python3
"""The finished daemon under load, change and abuse. Words choose tests by name; --all runs them at full size. See the *_test.py beside."""
import importlib
import pathlib
import sys

import cases

for path in sorted(pathlib.Path(__file__).parent.glob("*_test.py")):
    if path.stem != "serving_test":
        importlib.import_module(path.stem)
sys.exit(cases.finish(*cases.run()))
