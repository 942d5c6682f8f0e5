#!/usr/bin/env python3
"""Runs clang-tidy over sources, and never twice over the same text.

usage: tidy.py --build FOLDER --cache FOLDER [--jobs N] (--all | SOURCE…)

--build holds compile_commands.json, --cache remembers which sources were clean: a source's key is
the hash of everything its result depends on (its text, the project headers it includes, .clang-tidy,
its compile flags, the version of clang-tidy). Prints `file:line: problem`; exit code 1 on any.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

CLANG_TIDY = "clang-tidy-19"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
DIAGNOSTIC = re.compile(r"^(/[^:]+):(\d+):\d+: (?:warning|error): (.*)$")


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def with_project_headers(source: str) -> list[str]:
    """The source and all project headers it includes, directly or not; paths from the root."""
    found, open_ends = {source}, [source]
    while open_ends:
        for name in INCLUDE.findall(read(open_ends.pop())):
            header = name.decode()
            if header not in found and os.path.isfile(header):
                found.add(header)
                open_ends.append(header)
    return sorted(found)


def key_of(source: str, command: str, version: str) -> str:
    digest = hashlib.sha256()
    flags = command.replace(os.getcwd(), ".")
    for part in (version.encode(), flags.encode(), read(".clang-tidy")):
        digest.update(b"%d:" % len(part) + part)
    for path in with_project_headers(source):
        digest.update(path.encode() + b"\0" + read(path) + b"\0")
    return digest.hexdigest()


def compile_commands(build: str) -> dict:
    """The first compile command of each project source, by its path from the root."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    root = os.getcwd() + os.sep
    commands = {}
    for entry in entries:
        path = entry["file"]
        source = path[len(root):] if path.startswith(root) else ""
        if source and not source.startswith(("build/", "tests/")):
            # A program built twice from the same source is looked at once, without its
            # precompiled header, which only the compiler that made it can read.
            entry["command"] = re.sub(r"-include \S*cmake_pch\S*", "", entry["command"])
            commands.setdefault(source, entry)
    return commands


def tidy(source: str, database: str) -> tuple[list[str], str]:
    """Violations, and what clang-tidy said when it failed without naming one."""
    run = subprocess.run(
        [CLANG_TIDY, "--quiet", "-p", database, "--extra-arg=-Wno-unknown-warning-option", source],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    root = os.getcwd() + os.sep
    found = []
    for line in run.stdout.splitlines():
        match = DIAGNOSTIC.match(line)
        if match:
            path, number, problem = match.groups()
            path = os.path.normpath(path)
            path = path[len(root):] if path.startswith(root) else path
            problem = problem.replace(",-warnings-as-errors", "")
            found.append(f"{path}:{number}: {problem}")
    silent_failure = run.returncode != 0 and not found
    # What the build wrote follows no naming rule.
    found = [line for line in found if not line.startswith("build/")]
    return found, run.stderr if silent_failure else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()

    version = subprocess.run([CLANG_TIDY, "--version"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    commands = compile_commands(options.build)
    wanted = sorted(commands) if options.all else [s for s in options.sources if s in commands]
    unknown = len(options.sources) - len(wanted)
    if unknown > 0:
        print(f"tidy: {unknown} sources are not part of {options.build} and were left out",
              file=sys.stderr)

    os.makedirs(options.cache, exist_ok=True)
    marks = {source: os.path.join(options.cache, key_of(source, commands[source]["command"], version))
             for source in wanted}
    todo = [source for source in wanted if not os.path.exists(marks[source])]
    print(f"tidy: {len(wanted)} sources, {len(wanted) - len(todo)} of them unchanged since they "
          f"were clean, {len(todo)} to read", file=sys.stderr)

    database = os.path.join(options.build, "tidy")
    os.makedirs(database, exist_ok=True)
    with open(os.path.join(database, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump([commands[source] for source in wanted], file)

    violations = set()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for source, (found, failure) in zip(todo, pool.map(lambda s: tidy(s, database), todo)):
            if failure:
                found = [f"{source}:1: clang-tidy failed: {' '.join(failure.split())}"]
            for line in found:
                if line not in violations:
                    print(line, flush=True)
                violations.add(line)
            if not found:
                with open(marks[source], "w", encoding="utf-8"):
                    pass
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
