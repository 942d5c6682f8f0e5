#!/usr/bin/env python3
"""Each rule of tools/layout_check.py can fail, and stays silent where it must."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "layout_check.py")
sys.path.insert(0, os.path.dirname(SCRIPT))
from layout_check import MAX_LINES, violations  # noqa: E402


def problems(path: str, *lines: str) -> list[str]:
    return [problem for _, problem in violations(path, "\n".join(lines))]


class FoldersTest(unittest.TestCase):
    ALLOWED = [
        ("profiler/trace/a.h", "profiler/trace/b.h"),
        ("profiler/formats/a.cpp", "profiler/trace/b.h"),
        ("profiler/record/a.cpp", "profiler/formats/b.h"),
        ("profiler/diagnose/a.cpp", "profiler/trace/b.h"),
        ("reports/a.cpp", "profiler/diagnose/b.h"),
        ("trainers/workloads/a.cpp", "profiler/record/b.h"),
        ("tools/commands/a.cpp", "reports/b.h"),
        ("tools/commands/a.cpp", "trainers/workloads/table.h"),
        ("tools/main.cpp", "ddpprof_version.h"),
        ("tools/main.cpp", "embedded/help_text.h"),
        ("bench/a.cpp", "profiler/formats/b.h"),
        ("tests/trace/a_test.cpp", "trainers/common/b.h"),
    ]
    FORBIDDEN = [
        ("profiler/trace/a.h", "profiler/formats/b.h"),
        ("profiler/formats/a.cpp", "profiler/record/b.h"),
        ("profiler/formats/a.cpp", "profiler/diagnose/b.h"),
        ("profiler/record/a.cpp", "profiler/diagnose/b.h"),
        ("profiler/record/a.cpp", "trainers/b.h"),
        ("profiler/diagnose/a.cpp", "profiler/formats/b.h"),
        ("profiler/diagnose/a.cpp", "reports/b.h"),
        ("reports/a.cpp", "profiler/formats/b.h"),
        ("reports/a.cpp", "tools/b.h"),
        ("trainers/a.cpp", "profiler/diagnose/b.h"),
        ("trainers/a.cpp", "reports/b.h"),
        ("tools/a.cpp", "profiler/record/b.h"),
        ("tools/a.cpp", "trainers/b.h"),
        ("tools/a.cpp", "tests/support/b.h"),
    ]

    def test_what_the_table_allows_passes(self):
        for path, included in self.ALLOWED:
            with self.subTest(path=path, included=included):
                self.assertEqual(problems(path, f'#include "{included}"'), [])

    def test_what_the_table_forbids_is_found(self):
        for path, included in self.FORBIDDEN:
            with self.subTest(path=path, included=included):
                self.assertEqual(len(problems(path, f'#include "{included}"')), 1)

    def test_a_path_that_does_not_begin_at_the_root_is_found(self):
        self.assertIn("repository root", problems("reports/a.cpp", '#include "b.h"')[0])
        self.assertIn("repository root", problems("reports/a.cpp", '#include "../reports/b.h"')[0])

    def test_spaces_and_the_line_number(self):
        self.assertEqual(
            violations("profiler/trace/a.h", '\n  #  include   "reports/b.h"')[0][0], 2)


class ThirdPartyTest(unittest.TestCase):
    RULES = [
        ("torch/torch.h", "trainers/a.cpp", "profiler/record/a.cpp"),
        ("ATen/ATen.h", "tests/trainers/a_test.cpp", "tests/trace/a_test.cpp"),
        ("c10/core/Device.h", "trainers/common/a.h", "tools/a.cpp"),
        ("simdjson.h", "profiler/formats/a.cpp", "reports/a.cpp"),
        ("sqlite3.h", "profiler/formats/a.cpp", "tools/a.cpp"),
        ("nlohmann/json.hpp", "reports/a.cpp", "profiler/formats/a.cpp"),
        ("CLI/CLI.hpp", "tools/a.cpp", "reports/a.cpp"),
        ("CLI/CLI.hpp", "trainers/a.cpp", "profiler/record/a.cpp"),
        ("zlib.h", "profiler/formats/a.cpp", "tools/a.cpp"),
        ("zlib.h", "profiler/formats/a.cpp", "trainers/workloads/a.cpp"),
        ("cupti.h", "profiler/record/a.cpp", "profiler/diagnose/a.cpp"),
        ("nvtx3/nvToolsExt.h", "profiler/record/a.cpp", "tools/a.cpp"),
        ("gtest/gtest.h", "tests/a_test.cpp", "profiler/trace/a.cpp"),
        ("benchmark/benchmark.h", "bench/a.cpp", "profiler/trace/a.cpp"),
        ("fmt/format.h", "reports/a.cpp", "reports/a.h"),
    ]

    def test_each_library_stays_in_its_folders(self):
        for header, inside, outside in self.RULES:
            with self.subTest(header=header):
                self.assertEqual(problems(inside, f"#include <{header}>"), [])
                self.assertEqual(len(problems(outside, f"#include <{header}>")), 1)

    def test_quotes_do_not_hide_a_library(self):
        self.assertIn("LibTorch", problems("tools/a.cpp", '#include "torch/torch.h"')[0])


class LengthTest(unittest.TestCase):
    def test_the_limit_is_the_last_line_allowed(self):
        for path in ("trainers/a.cpp", "trainers/a.h", "tools/cmake/a.cmake", "bench/CMakeLists.txt",
                     "tools/a.py"):
            with self.subTest(path=path):
                self.assertEqual(problems(path, *["x"] * MAX_LINES), [])
                self.assertIn("501 lines", problems(path, *["x"] * (MAX_LINES + 1))[0])

    def test_a_script_is_known_by_its_first_line(self):
        self.assertEqual(len(problems("tools/run", "#!/usr/bin/env bash", *["x"] * MAX_LINES)), 1)

    def test_text_may_be_long(self):
        self.assertEqual(problems("README.md", *["x"] * 2000), [])


class MachinePathTest(unittest.TestCase):
    def test_absolute_paths_are_found_in_any_file(self):
        for top in ("work", "root", "home"):
            self.assertEqual(len(problems("README.md", f"see /{top}/somebody/x")), 1)

    def test_relative_paths_and_addresses_pass(self):
        self.assertEqual(problems("README.md", "bench/" + "work/x", "https://a.b/" + "home/x"), [])


class ProgramTest(unittest.TestCase):
    def test_it_prints_file_line_and_problem_and_fails(self):
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["git", "init", "-q", root], check=True)
            os.makedirs(os.path.join(root, "reports"))
            source = os.path.join(root, "reports", "a.cpp")
            run = [sys.executable, SCRIPT, root]

            with open(source, "w", encoding="utf-8") as file:
                file.write('#include "reports/b.h"\n')
            clean = subprocess.run(run, stdout=subprocess.PIPE, text=True)
            self.assertEqual((clean.returncode, clean.stdout), (0, ""))

            with open(source, "w", encoding="utf-8") as file:
                file.write('\n#include "tools/b.h"\n')
            broken = subprocess.run(run, stdout=subprocess.PIPE, text=True)
            self.assertEqual(broken.returncode, 1)
            self.assertTrue(broken.stdout.startswith("reports/a.cpp:2: "), broken.stdout)


if __name__ == "__main__":
    unittest.main()
