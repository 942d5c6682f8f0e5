#!/usr/bin/env python3
"""What of bench/gpu_suite.py and bench/reference needs neither PyTorch nor a GPU."""
import pathlib
import sqlite3
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parents[1] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "reference")]

import samples
from suite import front_end, nsys_check, tables, why_ddp
from suite.ledger import FAILED, Ledger
from suite.processes import Failed, run_command
from suite.turns import TrainerSide, TwinSide, figures, ratio, take_turns


def has_ended(pid):
    """Within a second; who adopts it may never ask for its exit code."""
    for _ in range(100):
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        if stat.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Samples(unittest.TestCase):
    def test_mix_is_splitmix64(self):
        # Source: the first number of the published generator, seed 0.
        self.assertEqual(samples.mix(0), 0xE220A8397B1DCDAF)

    def test_ranks_get_contiguous_parts_of_the_batch(self):
        sampler = samples.Sampler(100, 12, 7)
        whole = sampler.micro_batch(2, 0, 1, 1)
        parts = [sampler.micro_batch(2, rank, 1, 3) for rank in range(3)]
        self.assertEqual(sum(parts, []), whole)
        self.assertEqual(sampler.micro_batch(2, 0, 3, 3), whole)

    def test_an_epoch_has_every_sample_at_most_once_and_the_next_another_order(self):
        sampler = samples.Sampler(10, 5, 7)
        first = sampler.micro_batch(0, 0, 1, 1) + sampler.micro_batch(1, 0, 1, 1)
        second = sampler.micro_batch(2, 0, 1, 1) + sampler.micro_batch(3, 0, 1, 1)
        self.assertEqual(sorted(first), list(range(10)))
        self.assertEqual(sorted(second), list(range(10)))
        self.assertNotEqual(first, second)

    def test_a_bit_of_the_state_is_a_sign(self):
        tokens, signs = samples.bert_sample(1, 2, 4, 130, 50)
        state = samples.mix(samples.mix(1) ^ 2)
        for token in tokens:
            state = samples.mix(state)
            self.assertEqual(token, state % 50)
        state = samples.mix(state)
        self.assertEqual(signs[0] > 0, state & 1 == 1)
        self.assertEqual(signs[63] > 0, state >> 63 == 1)
        self.assertEqual(signs[64] > 0, samples.mix(state) & 1 == 1)
        self.assertEqual(set(signs), {-1.0, 1.0})


class Turns(Folder):
    def trainer(self, name, step_ms, mood=(), ranks=None):
        command = [sys.executable, str(HERE / "fake_side.py"), str(step_ms),
                   str(self.folder / "diary"), *mood]
        return TrainerSide(name, command, self.folder / name, ranks)

    def twin(self, name, step_ms):
        command = [sys.executable, str(HERE / "fake_side.py"), str(step_ms),
                   str(self.folder / "diary")]
        return TwinSide(name, command, self.folder / name)

    def run_sides(self, sides, rounds=4, seconds=60):
        return take_turns(sides, rounds, 3, time.monotonic() + seconds)

    def test_go_forth_and_back(self):
        self.run_sides([self.trainer("a", 2), self.twin("b", 4), self.trainer("c", 8)])
        self.assertEqual((self.folder / "diary").read_text().split(),
                         "2 4 8 8 4 2 2 4 8 8 4 2".split())

    def test_give_medians_and_ratios_of_rounds(self):
        visits, readiness = self.run_sides([self.trainer("a", 2), self.twin("b", 4)])
        a, b = figures(visits["a"]), figures(visits["b"])
        self.assertEqual((a["median_ms"], b["median_ms"]), (2, 4))
        self.assertEqual(a["host_median_ms"], None)
        self.assertEqual((b["host_median_ms"], b["peak_memory_bytes"]), (1, [5]))
        self.assertEqual(ratio(a, b), {"median": 0.5, "min": 0.5, "max": 0.5, "rounds": [0.5] * 4})
        self.assertEqual(readiness["a"]["torch"], "2.11.0")

    def test_start_ranks_and_name_the_slowest(self):
        visits, _ = self.run_sides([self.trainer("a", 2, ranks=2)])
        self.assertEqual(figures(visits["a"])["median_ms"], 2)
        self.assertEqual(figures(visits["a"])["slowest_rank_mean_ms"], 4)

    def test_say_why_a_side_died(self):
        with self.assertRaises(Failed) as caught:
            self.run_sides([self.trainer("a", 2, ["dies"]), self.twin("b", 4)])
        self.assertIn("a: ended (exit code 7)", str(caught.exception))
        self.assertIn("the reason why", str(caught.exception))

    def test_do_not_wait_forever(self):
        with self.assertRaises(Failed) as caught:
            self.run_sides([self.trainer("a", 2, ["silent"])], seconds=2)
        self.assertIn("said nothing in time", str(caught.exception))

    def test_keep_the_rounds_so_far_when_the_time_is_up(self):
        side = self.twin("b", 4)
        visit = side.visit

        def slow_visit(*arguments):
            time.sleep(1)
            return visit(*arguments)

        side.visit = slow_visit
        visits, _ = self.run_sides([side], rounds=1000, seconds=4)
        self.assertGreaterEqual(len(visits["b"]), 2)
        self.assertLess(len(visits["b"]), 5)


class Commands(Folder):
    def test_a_command_that_hangs_is_ended_with_what_it_started(self):
        pid_file = self.folder / "pid"
        script = f"sleep 60 & echo $! > {pid_file}; wait"
        with self.assertRaises(Failed):
            run_command(["bash", "-c", script], self.folder / "log", 1)
        self.assertTrue(has_ended(int(pid_file.read_text())))

    def test_a_failure_shows_the_end_of_its_output(self):
        with self.assertRaises(Failed) as caught:
            run_command(["bash", "-c", "echo the reason why >&2; exit 3"], self.folder / "log", 10)
        self.assertIn("exit code 3", str(caught.exception))
        self.assertIn("the reason why", str(caught.exception))

    def test_links_change_nothing_about_multicast(self):
        for flags in front_end.LINKS.values():  # which variables --link sets: link_test.cpp
            self.assertIn(flags[:1], ([], ["--link"]))
        for variables in why_ddp.LINK_NAMES.values():
            self.assertFalse([name for name in variables if "NVLS" in name or "MULTI" in name])

    def test_nsys_alone_gets_its_libraries(self):
        self.assertIn("LD_LIBRARY_PATH", " ".join(front_end.with_own_libraries(["program"])))


class Results(Folder):
    def test_a_cut_line_costs_one_record_only(self):
        path = self.folder / "results.jsonl"
        Ledger(path).add("twin", "a", {"gpus": 2}, {"x": 1})
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"kind": "twin", "un')
        Ledger(path).add("twin", "b", {"gpus": 2}, {"x": 2})
        again = Ledger(path)
        self.assertEqual(again.find("a", {"gpus": 2})["result"], {"x": 1})
        self.assertEqual(again.find("b", {"gpus": 2})["result"], {"x": 2})

    def test_a_unit_that_failed_is_not_done(self):
        ledger = Ledger(self.folder / "results.jsonl")
        ledger.add("twin", "a", {}, {"x": 1})
        ledger.add(FAILED, "a", {}, {"why": "no reason"})
        ledger.add(FAILED, "b", {}, {"why": "no reason"})
        self.assertEqual(ledger.find("a", {})["result"], {"x": 1})
        self.assertIsNone(ledger.find("b", {}))
        self.assertEqual(tables.all_lines(ledger.records[1:]), [])

    def test_other_settings_are_another_measurement(self):
        ledger = Ledger(self.folder / "results.jsonl")
        ledger.add("twin", "a", {"gpus": 2}, {})
        self.assertIsNone(ledger.find("a", {"gpus": 1}))

    def test_what_is_not_known_is_a_dash(self):
        record = {"kind": "links", "unit": "links batch 64 default", "settings": {}, "result": {
            "strategies": {"single": {
                "step_ms": {"median": 2.0, "p10": 1.0, "p90": 3.0, "ci95": None},
                "all_reduce": {"transfer_ms": None, "busbw_gb_per_s": None, "exposed_ms": None}}}}}
        self.assertEqual(tables.all_lines([record])[-1].split()[-6:],
                         ["single", "2.00", "—", "—", "—", "—"])


class NsysCheck(Folder):
    """A report as nsys writes it: names of ranges registered, the domain's in place."""

    STRINGS = ["step", "data", "forward", "loss", "backward", "optimizer", "scatter", "replicate",
               "parallel_apply", "gather"]

    def write(self, processes):
        """`processes`: {process id: [(domain's name, names of ranges)]}."""
        path = self.folder / "run.sqlite"
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        database.execute("CREATE TABLE NVTX_EVENTS "
                         "(start, end, eventType, text, globalTid, textId, domainId)")
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(self.STRINGS))
        for pid, domains in processes.items():
            thread = 1 << 56 | pid << 24 | pid + 1
            for domain_id, (domain, names) in enumerate(domains, 1):
                rows = [(0, None, 75, domain, thread, None, domain_id)]
                rows += [(1, 2, 59, None, thread, self.STRINGS.index(name), domain_id)
                         for name in names]
                database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        database.commit()
        database.close()
        return path

    def test_every_process_has_every_range(self):
        one = list(nsys_check.OF_ALL)
        found = nsys_check.check(self.write({
            100: [("ddpprof", one)], 110: [("NCCL", []), ("ddpprof", one + list(nsys_check.OF_DP))],
            120: [("ddpprof", one + ["step"])], 121: [("ddpprof", one)]}), 2)
        self.assertTrue(found["is_fine"])
        self.assertEqual([p["label"] for p in found["processes"]],
                         ["single", "dp", "ddp rank 0", "ddp rank 1"])
        self.assertEqual(found["processes"][2]["counts"]["step"], 2)

    def test_a_range_of_another_domain_does_not_count(self):
        one = list(nsys_check.OF_ALL)
        found = nsys_check.check(self.write({
            100: [("ddpprof", one)], 110: [("ddpprof", one + list(nsys_check.OF_DP))],
            120: [("ddpprof", one[:-1]), ("other", ["optimizer"])]}), 1)
        self.assertFalse(found["is_fine"])
        self.assertEqual(found["processes"][2]["missing"], ["optimizer"])

    def test_a_missing_process_is_noticed(self):
        found = nsys_check.check(self.write({100: [("ddpprof", list(nsys_check.OF_ALL))]}), 1)
        self.assertFalse(found["is_fine"])


if __name__ == "__main__":
    unittest.main()
