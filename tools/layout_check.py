#!/usr/bin/env python3
"""Checks what a compiler cannot: who may include whom, file length, paths of one machine.

usage: layout_check.py [ROOT]

Looks at the files of the git checkout, tracked or not ignored. Prints `file:line: problem` for each
violation; exit code 1 when there is one.
"""
import os
import re
import subprocess
import sys

# Who may include whom, folders or single headers; every folder may include itself.
MAY_INCLUDE = {
    "profiler/trace": [],
    "profiler/formats": ["profiler/trace"],
    "profiler/record": ["profiler/trace", "profiler/formats"],
    "profiler/diagnose": ["profiler/trace"],
    "reports": ["profiler/trace", "profiler/diagnose"],
    "trainers": ["profiler/trace", "profiler/formats", "profiler/record"],
    # The two tables hold names and defaults alone, so that the front end and the trainer agree.
    "tools": ["profiler/trace", "profiler/formats", "profiler/diagnose", "reports",
              "trainers/common/faults.h", "trainers/workloads/table.h"],
}
FREE_FOLDERS = ["bench", "tests"]
FOLDERS = [*MAY_INCLUDE, *FREE_FOLDERS]

# Headers that the build writes.
GENERATED = re.compile(r"ddpprof_version\.h|embedded/[a-z0-9_]+\.h")

# Third-party headers and the folders that may know them. Tests may, except where listed as closed.
THIRD_PARTY = [
    ("LibTorch", r"(torch|ATen|c10|caffe2|gloo)/", ["trainers", "tests/trainers", "tests/gpu"]),
    ("simdjson", r"simdjson", ["profiler/formats", "tests", "bench"]),
    ("SQLite", r"sqlite3", ["profiler/formats", "tests", "bench"]),
    ("nlohmann/json", r"nlohmann/", ["reports", "tests", "bench"]),
    ("CLI11", r"CLI/", ["tools", "trainers", "tests", "bench"]),
    ("zlib", r"zlib\.h", ["profiler/formats", "tests", "bench"]),
    ("CUPTI, CUDA and NVTX", r"(cupti|cuda|nvtx3/|nccl)",
     ["profiler/record", "trainers", "tests", "bench"]),
    ("GoogleTest", r"gtest/", ["tests"]),
    ("Google Benchmark", r"benchmark/", ["bench"]),
]

MAX_LINES = 500
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
# Put together here so that this file does not contain what it looks for.
MACHINE_PATH = re.compile(r"(?<![\w.~}-])/(?:" + "|".join(["work", "root", "home"]) + r")/\w")


def is_in(path: str, folder: str) -> bool:
    return path.startswith(folder + "/")


def folder_of(path: str) -> str:
    return next((folder for folder in FOLDERS if is_in(path, folder)), "")


def is_cpp(path: str) -> bool:
    return path.endswith((".h", ".cpp"))


def is_script(path: str, lines: list[str]) -> bool:
    is_cmake = path.endswith(".cmake") or os.path.basename(path) == "CMakeLists.txt"
    return is_cmake or path.endswith((".py", ".sh")) or bool(lines and lines[0].startswith("#!"))


def project_include_problem(path: str, included: str) -> str:
    """Why `path` may not say #include "included"; empty when it may."""
    if GENERATED.fullmatch(included):
        return ""
    target = folder_of(included)
    if not target:
        return f'"{included}": write the path from the repository root'
    folder = folder_of(path)
    if folder in FREE_FOLDERS or target == folder or not folder:
        return ""
    if target not in MAY_INCLUDE[folder] and included not in MAY_INCLUDE[folder]:
        allowed = ", ".join([folder, *MAY_INCLUDE[folder]])
        return f'"{included}": {folder} may only include {allowed}'
    return ""


def third_party_problem(path: str, included: str) -> str:
    for name, pattern, folders in THIRD_PARTY:
        if re.match(pattern, included) and not any(is_in(path, folder) for folder in folders):
            return f"<{included}>: {name} belongs in {', '.join(folders)} only"
    if included.startswith("fmt/") and path.endswith(".h") and not is_in(path, "trainers"):
        return f"<{included}>: fmt belongs in sources, not in headers"
    return ""


def include_violations(path: str, lines: list[str]) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, angled = match.groups()
        problem = third_party_problem(path, quoted or angled)
        if quoted and not problem:
            problem = project_include_problem(path, quoted)
        if problem:
            found.append((number, problem))
    return found


def violations(path: str, text: str) -> list[tuple[int, str]]:
    """All (line, problem) of one file; `path` is relative to the repository root."""
    lines = text.splitlines()
    found = include_violations(path, lines) if is_cpp(path) else []
    if len(lines) > MAX_LINES and (is_cpp(path) or is_script(path, lines)):
        found.append((MAX_LINES + 1, f"{len(lines)} lines, at most {MAX_LINES}: split the file"))
    for number, line in enumerate(lines, 1):
        match = MACHINE_PATH.search(line)
        if match:
            found.append((number, f"{match.group()}…: a path of one machine"))
    return found


def project_files(root: str) -> list[str]:
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, stdout=subprocess.PIPE).stdout.decode()
    return sorted({path for path in listed.split("\0") if path})


def read_text(path: str) -> str:
    """The file's text; empty for binary, linked and vanished files."""
    if os.path.islink(path) or not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        data = file.read()
    return "" if b"\0" in data[:65536] else data.decode("utf-8", "replace")


def main() -> int:
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    count = 0
    for path in project_files(root):
        for line, problem in violations(path, read_text(os.path.join(root, path))):
            print(f"{path}:{line}: {problem}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
