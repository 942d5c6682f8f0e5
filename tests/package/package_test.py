#!/usr/bin/env python3
"""tools/package, and its archive used as on another machine. CTest sets the environment below."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["TEST_BUILD"]
SITE_PACKAGES = os.environ["TEST_SITE_PACKAGES"]
NAME = f"ddpprof-{os.environ['TEST_VERSION']}-linux-x86_64"
PROGRAMS = ["bin/ddpprof", "libexec/ddpprof-train", "libexec/ddpprof-train-cuda",
            "libexec/ddpprof_gpu_test", "libexec/ddpprof_gpu_record_test"]
SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
TORCH = {"libtorch_cpu.so", "libtorch_cuda.so", "libc10.so", "libc10_cuda.so", "libcudart.so.13",
         "libcupti.so.13", "libnccl.so.2"}


def run(*command, **environment):
    """Runs it with this environment alone, besides PATH and HOME."""
    whole = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", **environment}
    return subprocess.run([str(word) for word in command], env=whole, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                          cwd=environment.get("PWD", "/"))


def package(*arguments):
    """tools/package needs the caller's PATH, for cmake."""
    return run(ROOT / "tools/package", "--from", BUILD, *arguments, PATH=os.environ["PATH"])


def dynamic(file, tag):
    lines = run("/usr/bin/env", "readelf", "-d", file, PATH=os.environ["PATH"]).stdout.splitlines()
    return [line[line.index("[") + 1:-1] for line in lines if f"({tag})" in line]


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


class BundleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ddpprof-package-")
        cls.addClassCleanup(folder.cleanup)
        cls.out = pathlib.Path(folder.name, "out")
        cls.out.mkdir()
        cls.packed = package("--out", cls.out)
        assert cls.packed.returncode == 0, cls.packed.stderr
        cls.archive = cls.out / f"{NAME}.tar.gz"
        cls.top = pathlib.Path(folder.name, "a folder", NAME)
        cls.top.parent.mkdir()
        shutil.unpack_archive(cls.archive, cls.top.parent)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ddpprof-package-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_error(self, outcome, subject, *hints):
        self.assertEqual((outcome.returncode, outcome.stdout), (1, ""), outcome.stderr)
        first, second = outcome.stderr.splitlines()
        self.assertTrue(first.startswith(subject), first)
        self.assertTrue(second.startswith("  hint: "), second)
        for hint in hints:
            self.assertIn(hint, second)

    # --- the archive ---

    def test_it_prints_the_archives_path_and_leaves_nothing_else(self):
        self.assertEqual(self.packed.stdout, f"{self.archive}\n")
        self.assertEqual(os.listdir(self.out), [self.archive.name])
        self.assertEqual(os.listdir(self.top.parent), [NAME])

    def test_it_is_small_and_a_larger_one_is_refused(self):
        self.assertLess(self.archive.stat().st_size, 40e6)
        outcome = package("--out", self.folder, "--max-kb", "100")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("100 are allowed", outcome.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_same_programs_give_the_same_bytes(self):
        self.assertEqual(package("--out", self.folder).returncode, 0)
        self.assertEqual((self.folder / self.archive.name).read_bytes(), self.archive.read_bytes())

    def test_what_cannot_be_packed_is_an_error(self):
        tool = ROOT / "tools/package"
        self.assert_error(run(tool, "--from", self.folder), f"package: {self.folder}: ", "--from")
        self.assertEqual(run(tool, "--from", self.folder / "none").returncode, 2)
        self.assertEqual(run(tool, "--fast").returncode, 2)

    def test_every_library_is_in_it_or_of_the_system_or_torchs(self):
        bundled = set(os.listdir(self.top / "lib"))
        self.assertTrue(any(name.startswith("libfmt.so") for name in bundled), bundled)
        self.assertEqual(bundled & (SYSTEM | TORCH), set())
        for file in [*PROGRAMS, *(f"lib/{name}" for name in bundled)]:
            with self.subTest(file=file):
                self.assertEqual(set(dynamic(self.top / file, "NEEDED")) - SYSTEM - TORCH - bundled, set())

    def test_run_paths_are_relative_and_come_first(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                self.assertEqual(dynamic(self.top / program, "RPATH"), ["$ORIGIN/../lib"])
                self.assertEqual(dynamic(self.top / program, "RUNPATH"), [])

    def test_programs_are_stripped_and_the_front_end_needs_no_torch(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                sections = run("/usr/bin/env", "readelf", "-SW", self.top / program,
                               PATH=os.environ["PATH"]).stdout
                self.assertIn(".dynsym", sections)
                self.assertNotIn(".symtab", sections)
                self.assertNotIn(".debug_info", sections)
        for program in ("bin/ddpprof", "libexec/ddpprof_gpu_test"):
            self.assertEqual(set(dynamic(self.top / program, "NEEDED")) & TORCH, set())

    def test_licences_and_a_manual_are_in_it(self):
        self.assertIn("Apache License", (self.top / "LICENSE").read_text())
        self.assertIn("CC BY 4.0", (self.top / "licences/digits.LICENSE.md").read_text())
        readme = (self.top / "README").read_text()
        self.assertIn("bin/ddpprof compare", readme)
        self.assertNotIn("@", readme)

    # --- its programs ---

    def test_the_programs_run_elsewhere(self):
        outcome = run(self.top / "bin/ddpprof", "--version")
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        self.assertEqual(outcome.stdout.count(": built"), 2, outcome.stdout)
        outcome = run(self.top / "bin/ddpprof-train", "--steps", "2", DDPPROF_TORCH=SITE_PACKAGES)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        # Starting it takes all of its libraries; --version takes no driver.
        outcome = run(self.top / "bin/ddpprof-train-cuda", "--version", DDPPROF_TORCH=SITE_PACKAGES)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        outcome = run(self.top / "bin/ddpprof-gpu-tests", "--gtest_list_tests",
                      DDPPROF_TORCH=SITE_PACKAGES)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertIn("Probe.", outcome.stdout)
        self.assertIn("CuptiRecording.", outcome.stdout)

    def test_compare_runs_elsewhere(self):
        run_folder = self.folder / "run"
        outcome = run(self.top / "bin/ddpprof", "compare", "--device", "cpu", "--steps", "2",
                      "--rounds", "2", "--out", run_folder, DDPPROF_TORCH=SITE_PACKAGES)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertTrue((run_folder / "run.json").exists())

    def test_the_gpu_tests_use_the_bundles_programs(self):
        script = '#!/bin/sh\necho "$DDPPROF_PROGRAM|$DDPPROF_TRAIN_PROGRAM|$*"\n'
        write(self.folder / "libexec/ddpprof_gpu_test", script, 0o755)
        (self.folder / "bin").mkdir()
        shutil.copy(self.top / "bin/ddpprof-gpu-tests", self.folder / "bin")
        recorder = self.folder / "bin/ddpprof_gpu_record_test"
        write(recorder, '#!/bin/sh\necho "recorder $*"\n', 0o755)
        write(self.folder / "bin/ddpprof-train-cuda", "#!/bin/sh\necho probed\n", 0o755)
        outcome = run(self.folder / "bin/ddpprof-gpu-tests", "--gtest_filter=A.*:B.*", "x y")
        top = self.folder.resolve()
        self.assertEqual(outcome.stdout, "recorder --gtest_filter=A.*:B.* x y\n"
                                         f"{top}/bin/ddpprof|{top}/bin/ddpprof-train-cuda|"
                                         "--gtest_filter=A.*:B.* x y\n")
        self.assertEqual(outcome.returncode, 0)
        write(recorder, "#!/bin/sh\nexit 1\n", 0o755)
        outcome = run(self.folder / "bin/ddpprof-gpu-tests")
        self.assertEqual(outcome.returncode, 1, "either program's failure counts")
        self.assertIn("ddpprof-train-cuda|", outcome.stdout)
        # Without a GPU: the trainer's words once, instead of a failure a test.
        write(self.folder / "bin/ddpprof-train-cuda", "#!/bin/sh\necho no GPU >&2\nexit 1\n", 0o755)
        outcome = run(self.folder / "bin/ddpprof-gpu-tests")
        self.assertEqual((outcome.returncode, outcome.stdout, outcome.stderr), (1, "", "no GPU\n"))

    def test_the_environment_names_the_trainer_that_is_tested(self):
        trainer = self.folder / "trainer"
        test = (self.top / "libexec/ddpprof_gpu_test", "--gtest_filter=Probe.FindsADeviceWithMemory")
        for memory, exit_code in ((24, 0), (0, 1)):
            device = f'{{"name": "L4", "memory_bytes": {memory}}}'
            write(trainer, f"#!/bin/sh\necho '{{\"devices\": [{device}], \"link\": \"\", \"versions\": {{}}}}'\n",
                  0o755)
            outcome = run(*test, DDPPROF_TRAIN_PROGRAM=str(trainer))
            self.assertEqual(outcome.returncode, exit_code, outcome.stdout)

    # --- the trainers' launcher ---

    def version(self, program="ddpprof-train", **environment):
        return run(self.top / "bin" / program, "--version", **environment)

    def fake_torch(self, version, *libraries):
        site = self.folder / "site"
        write(site / "torch/version.py", f"__version__ = '{version}'\n")
        for library in libraries:
            write(site / library, "not a library")
        return site

    def test_torch_is_found_by_either_folder_and_by_python(self):
        for environment in ({"DDPPROF_TORCH": SITE_PACKAGES}, {"DDPPROF_TORCH": f"{SITE_PACKAGES}/torch"},
                            {"PYTHONPATH": SITE_PACKAGES}):
            with self.subTest(**environment):
                outcome = self.version(**environment)
                self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))

    def test_a_link_to_it_runs_it(self):
        link = self.folder / "trainer"
        link.symlink_to(self.top / "bin/ddpprof-train")
        self.assertEqual(run(link, "--version", DDPPROF_TORCH=SITE_PACKAGES).returncode, 0)

    def test_another_cuda_on_the_machine_is_not_loaded(self):
        for name in (*TORCH, "libcudnn.so.9", "libcublas.so.13", "libnvshmem_host.so.3", "libgomp.so.1"):
            write(self.folder / name, "not a library")
        for program in ("ddpprof-train", "ddpprof-train-cuda"):
            outcome = self.version(program, DDPPROF_TORCH=SITE_PACKAGES, LD_LIBRARY_PATH=str(self.folder))
            self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))

    def test_no_torch_is_an_error(self):
        self.assert_error(self.version(DDPPROF_TORCH="/nowhere"),
                          "ddpprof-train: DDPPROF_TORCH: /nowhere: ", "site-packages")
        for name in ("readlink", "sh"):
            (self.folder / name).symlink_to(shutil.which(name))
        self.assert_error(self.version(PATH=str(self.folder)), "ddpprof-train: torch: ", "DDPPROF_TORCH")
        write(self.folder / "python3", "#!/bin/sh\necho\n", 0o755)
        self.assert_error(self.version(PATH=str(self.folder)),
                          f"ddpprof-train: torch: {self.folder}/python3 ", "DDPPROF_TORCH")

    def test_a_folder_called_torch_here_is_not_torch(self):
        write(self.folder / "torch/version.py", "__version__ = '2.10.0'\n")
        outcome = self.version(PWD=str(self.folder), PYTHONPATH=SITE_PACKAGES)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)

    def test_another_version_is_an_error(self):
        for version in ("2.10.0", "2.110.0", "12.11.0"):
            outcome = self.version(DDPPROF_TORCH=str(self.fake_torch(version)))
            self.assert_error(outcome, f"ddpprof-train: torch: {version} in ", "2.11.0")
            self.assertIn("wanted is 2.11", outcome.stderr)

    def test_a_torch_without_this_cuda_is_an_error_of_the_gpu_trainer_alone(self):
        site = self.fake_torch("2.11.0+cpu", "torch/lib/libc10.so", "torch/lib/libtorch_cpu.so")
        self.assert_error(self.version("ddpprof-train-cuda", DDPPROF_TORCH=str(site)),
                          "ddpprof-train-cuda: torch: 2.11.0+cpu in ", "CUDA 13")
        self.assertEqual(self.version(DDPPROF_TORCH=str(site)).returncode, 127)  # the loader's


if __name__ == "__main__":
    unittest.main()
