"""Stands in for ddpprof, a trainer or nsys, as the first argument says.

A trainer's step takes 2 ms, recorded by CUPTI 3 % more. FAKE_MOOD in the environment: `nsys-loses`
(a kernel a step), `cupti-dies` (the trainer that records by CUPTI, at its third visit).
"""
import json
import os
import pathlib
import subprocess
import sys
import time

import fake_records

NAME = sys.argv.pop(1)
MOOD = os.environ.get("FAKE_MOOD")
RANK, RANKS = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def value(flag):
    return sys.argv[sys.argv.index(flag) + 1] if flag in sys.argv else None


def write_trace(steps):
    if value("--trace"):
        fake_records.write_native(pathlib.Path(value("--trace").replace("{rank}", str(RANK))),
                                  fake_records.training(steps, RANKS, RANK), value("--recorder"))


def obey(control):
    def send(message):
        os.write(control.fileno(), json.dumps(message).encode() + b"\n")

    if RANKS > 1 and RANK == 0:
        send({"type": "port", "port": 4711})
    send({"type": "ready", "torch_version": "2.11.0", "devices": [{"name": "GPU of the test"}]})
    done, recorded, visits, known = 0, [], 0, set()
    for text in control:
        order = json.loads(text)
        if order["type"] == "finish":
            write_trace(recorded)
            send({"type": "done", "steps_count": done})
            return
        visits += 1
        done += order["discarded"]
        slower = 1.0
        if order["record"]:
            if order["visit"] in known:
                sys.exit("two recorded visits have one number")
            known.add(order["visit"])
            recorded += [(done + k, order["visit"]) for k in range(order["steps"])]
            if value("--recorder") == "cupti":
                slower = 1.03
                time.sleep(0.005)
        done += order["steps"]
        if MOOD == "cupti-dies" and value("--recorder") == "cupti" and visits == 3:
            sys.exit("the reason why")
        # The steps that follow a switch are slow and must not count.
        times = [round(2e6 * slower * (9 if k < 2 else 1)) for k in range(order["steps"])]
        ends = [sum(times[:k]) for k in range(order["steps"] + 1)]
        send({"type": "ran", "step_ends_ns": ends})


def train():
    if "--control-fd" in sys.argv:
        with os.fdopen(int(value("--control-fd")), "r", encoding="utf-8") as control:
            obey(control)
        return
    if RANKS > 1 and int(os.environ["MASTER_PORT"]) == 0:
        sys.exit("alone it needs a port")
    write_trace([(k, 0) for k in range(int(value("--warmup")), int(value("--steps")))])


def nsys():
    base = pathlib.Path(value("-o"))
    if sys.argv[1] == "profile":
        base.with_name(base.name + ".nsys-rep").write_text(f"{RANKS} {RANK}", encoding="utf-8")
        sys.exit(subprocess.run(sys.argv[sys.argv.index("-o") + 2:], check=False).returncode)
    ranks, rank = map(int, pathlib.Path(sys.argv[-1]).read_text(encoding="utf-8").split())
    fake_records.write_sqlite(base, fake_records.training(
        [(k, 0) for k in range(20)], ranks, rank, int(MOOD == "nsys-loses"), 1.005),
        scopes_left_out=["bucket_copy"])


def compare():
    """Two ranks of ddp over any link: rank 1 waits for rank 0."""
    folder = pathlib.Path(value("--out"))
    (folder / "traces").mkdir(parents=True)
    stall = [{"phase": "forward", "activity": "stall", "kind": "host", "ms": 1.5},
             {"phase": "backward", "activity": "stall", "kind": "host", "ms": 2.0},
             {"phase": "backward", "activity": "compute", "kind": None, "ms": 3.0}]
    strategies = {}
    for key, ranks in (("single", 1), ("ddp", 2)):
        for rank in range(ranks):
            fake_records.write_native(folder / "traces" / f"{key}_rank{rank}.json.gz",
                                      fake_records.training([(9, 0), (10, 0)], ranks, rank))
        reduced = None if ranks == 1 else {"exposed_wait_ms": 0.25, "exposed_transfer_ms": 0.5}
        strategies[key] = {
            "step_ms": {"median": 21.0 + ranks}, "overhead": None, "all_reduce": reduced,
            "per_rank": [{"rank": rank, "window_ms": 10.0, "breakdown": stall,
                          "all_reduce": reduced} for rank in range(ranks)]}
    (folder / "report.json").write_text(json.dumps({"strategies": strategies, "verdict": "fine"}),
                                        encoding="utf-8")


{"ddpprof": compare, "nsys": nsys}.get(NAME, train)()
