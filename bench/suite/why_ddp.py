"""Item why-ddp: where the time of DDP's step goes over NVLink and without P2P, launch-bound.

`turns`: trainers of one run take turns, two of each kind of DDP, since how fast a process launches
differs from one start to the next. `compare`: `ddpprof compare` under each link, for the breakdown.
"""
import itertools
import pathlib
import shutil
import statistics
import time

from suite import native_trace, pace
from suite.estimates import estimate
from suite.front_end import compare, size_flags
from suite.recording import RecordingSide, scratch
from suite.turns import LEAST_ROUNDS, figures, standing

# Variables, as trainers that take turns have no --link.
LINK_NAMES = {"NVLink": {}, "no P2P": {"NCCL_P2P_DISABLE": "1"}}
STARTS = (1, 2)  # processes of a kind
# Alternating, as far as runs of `compare` can.
COMPARES = (("NVLink", 1), ("no P2P", 1), ("no P2P", 2), ("NVLink", 2))
ROUNDS, STEPS, RECORDED_STEPS = 12, 10, 4
COMPARE_ROUNDS, COMPARE_STEPS = 4, 10
READING_S = 25  # of the time left, for the traces
# {name: what it is divided by}
RATIOS = {"ddp no P2P 1": "ddp NVLink 1", "ddp no P2P 2": "ddp NVLink 2",
          "ddp NVLink 2": "ddp NVLink 1"}


def sides_of(suite, batch, folder):
    sides = [RecordingSide(suite, "why-ddp", "single", "single", "cupti", batch, folder)]
    for start in STARTS:
        for link, variables in LINK_NAMES.items():
            sides.append(RecordingSide(suite, "why-ddp", f"ddp {link} {start}", "ddp", "cupti",
                                       batch, folder, variables))
    return sides


def take_rounds(sides, deadline, say):
    """Each round a visit that is not recorded, then one that is."""
    visits = {side.name: [] for side in sides}
    longest_s = 0.0
    for index in range(ROUNDS):
        begin = time.monotonic()
        if index >= LEAST_ROUNDS and begin + longest_s > deadline:
            say(f"the time is up after {index} of {ROUNDS} rounds")
            break
        for side in sides if index % 2 == 0 else reversed(sides):
            visits[side.name].append(side.visit(STEPS, index, deadline))
            side.visit(RECORDED_STEPS, index, deadline, record=True)
        longest_s = max(longest_s, time.monotonic() - begin)
    return visits


def ratios_of(found):
    return {f"{name} / {base}": estimate(
        [a / b for a, b in zip(found[name]["round_medians_ms"], found[base]["round_medians_ms"])])
        for name, base in RATIOS.items()}


def rows_of(what, traces, steps_ms):
    """A row a rank. `steps_ms`: of each, not recorded."""
    job = pace.of_job([native_trace.read(path) for path in traces])
    return [{"what": what, "rank": rank, "step_ms": steps_ms[rank], **row}
            for rank, row in enumerate(job)]


def steps_of_ranks(visits):
    """Median step of each rank."""
    return [statistics.median(itertools.chain(*of_rank))
            for of_rank in zip(*(visit.by_rank_ms for visit in visits))]


def run_turns(suite, batch, timeout_s):
    deadline = time.monotonic() + timeout_s
    with scratch(suite) as name:
        folder = pathlib.Path(name)
        sides = sides_of(suite, batch, folder)
        with standing(sides, deadline) as readiness:
            visits = take_rounds(sides, deadline - READING_S, suite.say)
        found = {name: figures(of_side) for name, of_side in visits.items()}
        rows = []
        for side in sides:
            rows += rows_of(side.name, side.traces(), steps_of_ranks(visits[side.name]))
    return {"rows": rows, "steps": found, "ratios": ratios_of(found),
            "rounds": len(next(iter(visits.values()))),
            "devices": readiness[sides[0].name]["devices"]}


def stall_of(breakdown):
    """{kind: ms} of rows of report.json; empty where only phases were timed."""
    found = {}
    for row in breakdown:
        if row["activity"] == "stall" and row["kind"]:
            found[row["kind"]] = found.get(row["kind"], 0) + row["ms"]
    return found


def add_report(row, of_rank):
    """What report.json says of a rank goes before what the script made of the trace."""
    reduced = of_rank["all_reduce"] or {}
    row["stall_ms"] = stall_of(of_rank["breakdown"])
    row["breakdown"] = of_rank["breakdown"]
    row["window_ms"] = of_rank["window_ms"]
    for name in ("wait_ms", "transfer_ms", "exposed_wait_ms", "exposed_transfer_ms"):
        if reduced.get(name) is not None:
            row[name] = reduced[name]


def run_compare(suite, batch, link, start, timeout_s):
    name = f"why-ddp-{link}-{start}".replace(" ", "-")
    flags = [*size_flags(suite), "--batch", str(batch), "--strategies", "single,ddp", "--recorder",
             "cupti", "--rounds", str(COMPARE_ROUNDS), "--steps", str(COMPARE_STEPS)]
    report = compare(suite, name, flags, timeout_s, LINK_NAMES[link])
    folder = suite.folder / name
    rows = []
    for key, of_strategy in report["strategies"].items():
        traces = sorted((folder / "traces").glob(f"{key}_rank*.json.gz"))
        these = rows_of(f"{key} {link} {start}", traces,
                        [of_strategy["step_ms"]["median"]] * len(traces))
        for row, of_rank in zip(these, of_strategy["per_rank"]):
            add_report(row, of_rank)
        rows += these
    shutil.rmtree(folder / "traces", ignore_errors=True)  # large, and read
    return {"rows": rows, "verdict": report.get("verdict"), "machine": report.get("machine"),
            "steps": {key: one["step_ms"] for key, one in report["strategies"].items()},
            "overhead": {key: one["overhead"] for key, one in report["strategies"].items()},
            "all_reduce": {key: one["all_reduce"] for key, one in report["strategies"].items()}}
