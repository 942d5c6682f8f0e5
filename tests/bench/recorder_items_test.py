#!/usr/bin/env python3
"""Items overhead, nsys-twin and why-ddp of bench/gpu_suite.py, without a GPU."""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(HERE)]

import fake_records
from fake_records import training, write_native, write_sqlite
from suite import (estimates, launch_counts, native_trace, nsys_check, nsys_trace, nsys_twin,
                   overhead, pace, spans)
from suite.processes import Failed
from suite.records import (Call, Innermost, Range, Records, Work, phases_of, place_work, readable)

STEPS = [(10, 0), (11, 0), (20, 1)]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def native(self, events, name="trace.json.gz", **more):
        write_native(self.folder / name, events, **more)
        return self.folder / name

    def sqlite(self, events, name="run.sqlite", **more):
        write_sqlite(self.folder / name, events, **more)
        return self.folder / name


class Figures(unittest.TestCase):
    def test_an_interval_holds_the_median_and_does_not_change(self):
        values = [1 + 0.01 * (k % 7) for k in range(40)]
        found = estimates.estimate(values)
        self.assertEqual(found, estimates.estimate(values))
        self.assertLessEqual(found["ci95"][0], found["median"])
        self.assertLess(found["ci95"][0], found["ci95"][1])
        self.assertIsNone(estimates.estimate(values[:4])["ci95"])

    def test_a_goal_is_met_only_by_the_whole_interval(self):
        self.assertEqual(overhead.verdict({"ci95": [0.9, 1.02]}, 0.02), "met")
        self.assertEqual(overhead.verdict({"ci95": [1.01, 1.03]}, 0.02), "cannot tell")
        self.assertEqual(overhead.verdict({"ci95": [1.021, 1.03]}, 0.02), "not met")
        self.assertEqual(overhead.verdict({"ci95": None}, 0.02), "cannot tell")

    def test_a_visit_is_the_median_of_its_settled_steps_over_ranks(self):
        visit = types.SimpleNamespace(by_rank_ms=[[90, 90, 2, 4, 6], [90, 90, 4, 6, 20]])
        self.assertEqual(overhead.step_ms(visit), 5)

    def test_both_orders_come_up_equally_often(self):
        diary = []
        members = [types.SimpleNamespace(measure_pair=lambda index, _, name=name: diary.append(
            (name, overhead.order_of(index)[0]))) for name in "ab"]
        overhead.take_pairs(members, 4, float("inf"), print)
        self.assertEqual("".join(name for name, _ in diary), "ababbaba")
        for name in "ab":
            self.assertEqual([first for who, first in diary if who == name],
                             [False, True, False, True])

    def test_spans_are_sets(self):
        these = spans.union([(5, 9), (0, 2), (1, 3), (4, 4)])
        self.assertEqual(these, [(0, 3), (5, 9)])
        self.assertEqual(spans.subtract(these, [(1, 2), (6, 7), (8, 20)]),
                         [(0, 1), (2, 3), (5, 6), (7, 8)])
        self.assertEqual(spans.length(these), 7)

    def test_the_innermost_range_has_its_end_outside(self):
        timeline = Innermost([Range(10, 20, "outer"), Range(12, 15, "inner"),
                              Range(15, 16, "next")])
        self.assertEqual([timeline.at(time) for time in (9, 10, 12, 14, 15, 16, 19, 20)],
                         [None, "outer", "inner", "inner", "next", "outer", "outer", None])


class Readers(Folder):
    def test_read_what_ddpprof_writes(self):
        path = ROOT / "tests/formats/golden/small.trace.json"
        records = native_trace.read(path)
        self.assertEqual(records.steps, [(2_000_000, 4_000_000), (4_000_000, 6_000_500)])
        self.assertEqual(records.rows, [(2_000_000, 6_000_500)])
        self.assertEqual([work.kind for work in records.work],
                         ["kernel", "kernel", "copy", "set", "copy"])
        self.assertEqual(records.calls[0], (2_100_000, 2_104_999, 0, 77))
        self.assertEqual(phases_of(records), {"forward", "backward"})
        self.assertEqual([one.gradient for one in records.collectives], [True, False])

        size = native_trace.measure(path)
        self.assertEqual(size["plain_bytes"], path.stat().st_size)
        self.assertEqual(size["events"], {"user_annotation": 6, "cuda_runtime": 2, "kernel": 2,
                                          "gpu_memcpy": 2, "gpu_memset": 1})
        self.assertEqual((size["steps"], size["dropped_records"]), (2, 3))
        self.assertEqual(size["issues"][0]["code"], "lost-records")

    def test_a_trace_and_a_report_of_nsys_give_the_same(self):
        events = training(STEPS, ranks=2)
        ours = native_trace.read(self.native(events))
        nsys = nsys_trace.read(self.sqlite(events))
        phases = phases_of(ours)
        self.assertEqual(phases, phases_of(nsys))
        self.assertEqual(launch_counts.count(ours, phases), launch_counts.count(nsys, phases))

    def test_warm_up_steps_of_nsys_are_skipped(self):
        records = nsys_trace.read(self.sqlite(training(STEPS)), 1)
        self.assertEqual(len(records.steps), 2)
        placed, _ = place_work(records)
        self.assertEqual({one.step for one in placed}, {0, 1})

    def test_work_belongs_to_its_launch(self):
        counts = launch_counts.count(native_trace.read(self.native(training(STEPS))),
                                     {"data", "forward", "backward", "optimizer"})
        self.assertEqual(counts["kernels_of_steps"], [fake_records.KERNELS_SINGLE] * 3)
        self.assertEqual((counts["copies"], counts["sets"]), (1, 0))
        # Autograd's thread has no range of its own: main's counts.
        self.assertEqual({phase: round(ms, 6) for phase, ms in counts["phase_ms"].items()},
                         {"data": 0.05, "forward": 0.2, "backward": 0.3, "optimizer": 0.05})

    def test_a_range_of_one_side_alone_counts_for_neither(self):
        counts = launch_counts.count(native_trace.read(self.native(training(STEPS, ranks=2))),
                                     {"data", "forward", "backward", "optimizer"})
        self.assertAlmostEqual(counts["phase_ms"]["backward"], 0.35)

    def test_a_report_without_our_ranges_is_refused(self):
        empty = training([])
        with self.assertRaises(Failed):
            nsys_trace.read(self.sqlite(empty))

    def test_symbols_are_spelled_alike(self):
        self.assertEqual(readable("_Z4gemmPf"), "gemm(float*)")
        self.assertEqual(readable("nvjet_sm90"), "nvjet_sm90")

    def test_nobody_falls_back_in_silence(self):
        for folder in ("traces", "logs"):
            (self.folder / folder).mkdir()
        reason = {"code": nsys_check.ISSUE, "text": "nsys holds CUPTI", "count": 1}
        for name, issues in (("single_rank0", [reason]), ("ddp_rank0", [reason]),
                             ("ddp_rank1", [reason]), ("dp_rank0", [])):
            self.native(training(STEPS), f"traces/{name}.json.gz", recorder="events", issues=issues)
        (self.folder / "logs" / "single_rank0.log").write_text(
            f"ddpprof-train-cuda: {nsys_check.SAID}nsys holds CUPTI\n", encoding="utf-8")
        found = {one["process"]: one["is_fine"] for one in nsys_check.check_recorders(self.folder)}
        self.assertEqual(found, {"single_rank0": True, "ddp_rank0": False, "ddp_rank1": True,
                                 "dp_rank0": False})


class SideBySide(Folder):
    def run_of(self, ranks=1, **more):
        return [native_trace.read(self.native(training(STEPS, ranks, rank, **more)))
                for rank in range(ranks)]

    def fine(self, ours, nsys):
        return {row["what"]: row["fine"] for row in nsys_twin.lay_side_by_side(ours, nsys)["rows"]}

    def test_the_same_is_fine(self):
        ours = [self.run_of(2), self.run_of(2)]
        self.assertEqual(set(self.fine(ours, ours).values()), {"yes"})

    def test_a_kernel_that_one_side_lacks_is_not(self):
        fine = self.fine([self.run_of(), self.run_of()], [self.run_of(lost=1), self.run_of(lost=1)])
        self.assertEqual(fine["kernels"], "NO")
        self.assertEqual(fine["copies"], "yes")
        self.assertEqual(fine["names of kernels; with different counts"], "NO")
        self.assertEqual(fine["forward on the GPU, ms"], "NO")

    def test_what_differs_less_than_our_own_runs_is_fine(self):
        fine = self.fine([self.run_of(slower=0.9), self.run_of(slower=1.1)],
                         [self.run_of(slower=1.05), self.run_of(slower=1.05)])
        self.assertEqual(fine["forward on the GPU, ms"], "yes")

    def test_the_least_of_the_ranks_does_not_wait(self):
        found = launch_counts.quantities([launch_counts.count(records, {"backward"})
                                          for records in self.run_of(2)])
        self.assertAlmostEqual(found["rank 0 all-reduce kernels, ms"], 0.8)
        self.assertAlmostEqual(found["rank 1 all-reduce kernels, ms"], 1.4)
        self.assertAlmostEqual(found["all-reduce kernels, least of the ranks, ms"], 0.8)


class Pace(Folder):
    def test_of_two_ranks_of_which_one_is_late(self):
        late, early = pace.of_job([native_trace.read(self.native(training(STEPS, 2, rank)))
                                   for rank in range(2)])
        self.assertEqual(late["recorded_step_ms"], 10)
        self.assertEqual(late["launches"], fake_records.KERNELS_DDP + 1)
        self.assertAlmostEqual(late["launch_ms"], 15 * 0.005)
        self.assertAlmostEqual(late["apart_us"], (6 * 100 + 100 + 1000) / 8)
        self.assertEqual((late["bucket_copies"], late["all_reduces"]), (1, 2))
        self.assertAlmostEqual(late["bucket_copy_ms"], 0.05)
        self.assertAlmostEqual(late["busy_ms"], 13 * 0.05 + 0.8)
        self.assertAlmostEqual(late["wait_ms"], 0)
        self.assertAlmostEqual(early["wait_ms"], 0.6)
        self.assertAlmostEqual(early["exposed_wait_ms"], 0.6)
        self.assertAlmostEqual(early["exposed_transfer_ms"], late["exposed_transfer_ms"])
        self.assertAlmostEqual(late["host_ms_by_phase"]["backward"], 4)


    def test_the_thread_that_launches_most_sets_the_pace(self):
        calls = [Call(begin, begin + 4, thread, number) for number, (thread, begin) in enumerate(
            [(1, 10), (2, 11), (1, 20), (1, 40), (2, 99)], 1)]
        driver = [Call(call.begin + 1, call.end - 1, call.thread, call.correlation)
                  for call in calls]  # inside the runtime's: the same launch
        work = [Work(call.end, call.end + 1, "kernel", "k", call.correlation, "compute")
                for call in calls]
        records = Records(steps=[(0, 100)], main=0, ranges={0: [Range(0, 100, "backward")]},
                          calls=driver + calls, work=work)
        found = pace.host_pace(records)
        self.assertEqual((found["launches"], found["apart_us"]), (5, 0.015))
        self.assertAlmostEqual(found["launch_ms"], 5 * 4e-6)


class Suite(Folder):
    """The command line, with scripts in the places of all programs."""

    def setUp(self):
        super().setUp()
        for name in ("ddpprof", "ddpprof-train-cuda", "nsys"):
            script = self.folder / name
            script.write_text("#!/bin/sh\nexec " + shlex.join(
                [sys.executable, str(HERE / "fake_program.py"), name]) + ' "$@"\n')
            script.chmod(0o755)

    def run_suite(self, *arguments, mood=None):
        command = [sys.executable, str(ROOT / "bench" / "gpu_suite.py"), "--bin", str(self.folder),
                   "--out", str(self.folder / "out" / "gpus.jsonl"), "--nsys",
                   str(self.folder / "nsys"), "--batches", "8,16", "--pairs", "6", *arguments]
        environment = {**os.environ, **({"FAKE_MOOD": mood} if mood else {})}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def result(self, unit):
        path = self.folder / "out" / f"{unit.replace(' ', '-')}.json"
        return json.loads(path.read_text(encoding="utf-8"))["result"]

    def assert_done(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(list((self.folder / "out").glob("scratch-*")), [])

    def test_overhead(self):
        self.assert_done(self.run_suite("--items", "overhead"))
        result = self.result("overhead batch 8 launch-bound")
        sides = {(side["strategy"], side["recorder"]): side for side in result["sides"]}
        self.assertEqual(len(sides), 6)
        cupti, events = sides["ddp", "cupti"], sides["ddp", "events"]
        self.assertAlmostEqual(cupti["on_over_off"]["median"], 1.03)
        self.assertEqual((cupti["verdict"], events["verdict"]), ("not met", "met"))
        self.assertEqual((cupti["goal"], events["goal"]), (0.02, 0.005))
        self.assertEqual((sides["single", "cupti"]["batch"], cupti["batch"]), (4, 8))
        self.assertEqual(cupti["on_over_off"]["count"], 6)
        self.assertGreater(cupti["start_ms"], 2)
        # Two ranks; six visits of one step and six of seven.
        self.assertEqual(cupti["trace"]["recorded_steps_of_all_ranks"], 2 * (6 + 6 * 7))
        self.assertEqual(cupti["trace"]["records_a_step"], 1 + 6 + 2 * 15 + 2)
        self.assertEqual(events["trace"]["recorders"], ["cuda-events"])
        self.assertGreater(cupti["trace"]["plain_bytes_a_record"],
                           cupti["trace"]["gz_bytes_a_record"])
        self.assertEqual([one["cupti_off_over_events_off"]["median"]
                          for one in result["left_behind"]], [1, 1, 1])
        large = self.result("overhead batch 16 large-kernels dp")["sides"]
        self.assertEqual([side["goal"] for side in large], [0.001, 0.005])

        again = self.run_suite("--items", "overhead")
        self.assertEqual(again.stdout.count("done before"), 4)
        self.assertIn("[overhead]", again.stdout)
        self.assertIn("took ", again.stdout)
        self.assertIn("1.0300", again.stdout)

    def test_overhead_on_one_gpu(self):
        done = self.run_suite("--items", "overhead", "--gpus", "1")
        self.assert_done(done)
        self.assertEqual(done.stdout.count("needs 2 GPUs"), 2)
        self.assertEqual(len(self.result("overhead batch 8 launch-bound")["sides"]), 2)

    def test_a_trainer_that_dies_costs_its_unit(self):
        done = self.run_suite("--items", "overhead", "--gpus", "1", mood="cupti-dies")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the reason why", done.stdout)
        self.assertEqual(list((self.folder / "out").glob("scratch-*")), [])

    def test_nsys_twin(self):
        self.assert_done(self.run_suite("--items", "nsys-twin"))
        for unit, ranks in (("nsys-twin batch 8 single", 1), ("nsys-twin batch 8 ddp", 2)):
            result = self.result(unit)
            self.assertEqual({row["fine"] for row in result["rows"]}, {"yes", "yes, within 1%"})
            self.assertEqual(len(result["without_launch"]["nsys"][0]), ranks)
            self.assertNotIn("bucket_copy", result["phases"])

    def test_nsys_twin_finds_what_is_missing(self):
        done = self.run_suite("--items", "nsys-twin", "--gpus", "1", mood="nsys-loses")
        self.assert_done(done)
        rows = {row["what"]: row for row in self.result("nsys-twin batch 8 single")["rows"]}
        self.assertEqual((rows["kernels"]["difference"], rows["kernels"]["fine"]), (1, "NO"))
        self.assertIn("gemm(float*)", done.stdout)

    def test_why_ddp(self):
        done = self.run_suite("--items", "why-ddp")
        self.assert_done(done)
        turns = self.result("why-ddp batch 8 turns")
        self.assertEqual([(row["what"], row["rank"]) for row in turns["rows"]],
                         [("single", 0), *((f"ddp {link} {start}", rank) for start in (1, 2)
                                           for link in ("NVLink", "no P2P") for rank in (0, 1))])
        self.assertEqual(turns["rows"][0]["step_ms"], 2)
        self.assertAlmostEqual(turns["rows"][2]["exposed_wait_ms"], 0.6)
        self.assertEqual(turns["ratios"]["ddp no P2P 1 / ddp NVLink 1"]["median"], 1)
        row = self.result("why-ddp batch 8 compare no P2P 2")["rows"][1]
        self.assertEqual((row["what"], row["step_ms"]), ("ddp no P2P 2", 23))
        self.assertEqual(row["stall_ms"], {"host": 3.5})
        self.assertEqual((row["exposed_wait_ms"], row["exposed_transfer_ms"]), (0.25, 0.5))
        self.assertEqual(row["bucket_copies"], 1)
        self.assertFalse((self.folder / "out" / "why-ddp-no-P2P-2" / "traces").exists())

    def test_what_needs_gpus_says_so(self):
        (self.folder / "ddpprof-train").symlink_to(self.folder / "ddpprof-train-cuda")
        done = self.run_suite("--items", "overhead,why-ddp", "--device", "cpu")
        self.assert_done(done)
        self.assertEqual(done.stdout.count("left out"), 9)


if __name__ == "__main__":
    unittest.main()
