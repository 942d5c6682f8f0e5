"""Item nsys-twin: the same training seen by ddpprof's CUPTI recorder and by Nsight Systems.

Runs take turns, A (ours, no nsys) B (nsys, we time phases alone), B A, ...; both sides are counted
by the same code from raw records. The runs of A among each other show what is chance.
"""
import itertools
import pathlib
import statistics
import time

from suite import native_trace, nsys_trace
from suite.beside_python import WARMUP, sizes
from suite.front_end import nsys_environment, with_own_libraries
from suite.jobs import free_port, run_job
from suite.launch_counts import count, names_that_differ, quantities
from suite.processes import Failed, place_of_rank
from suite.recording import scratch
from suite.records import phases_of

RUNS = 3  # a side
LEAST_RUNS = 2  # of which figures are made when the time is up
STEPS = 10
NEAR = 0.01  # times that differ by less are called fine, whatever chance does
PROFILE = ["profile", "-t", "cuda,nvtx", "--sample=none", "--cpuctxsw=none",
           "--cuda-graph-trace=node", "--force-overwrite", "true", "-o"]


def trainer(suite, strategy, batch, more):
    return [str(suite.trainer), "--strategy", strategy, *sizes(suite, batch), "--steps",
            str(WARMUP + STEPS), *more]


def places(suite, strategy):
    """Variables of each rank."""
    if strategy != "ddp":
        return [{}]
    port = free_port()
    return [place_of_rank(rank, suite.gpus, port) for rank in range(suite.gpus)]


def run_ours(suite, strategy, batch, stem, folder, deadline):
    """Records of each rank."""
    # The trainer puts the rank in; alone it is rank 0.
    command = trainer(suite, strategy, batch, ["--recorder", "cupti", "--trace",
                                               str(folder / f"{stem}-{{rank}}.json.gz")])
    run_job([(command, suite.logs / f"{stem}-{rank}.log", place)
             for rank, place in enumerate(places(suite, strategy))], deadline - time.monotonic())
    traces = sorted(folder.glob(f"{stem}-[0-9]*.json.gz"))
    found = [native_trace.read(path) for path in traces]
    for path in traces:
        path.unlink()
    return found


def run_nsys(suite, strategy, batch, stem, folder, deadline):
    """One nsys a rank, so that each leaves a report of its own."""
    command = with_own_libraries(trainer(suite, strategy, batch, ["--recorder", "events"]))
    own, profiles, exports = nsys_environment(suite), [], []
    for rank, place in enumerate(places(suite, strategy)):
        base = folder / f"{stem}-{rank}"
        profiles.append(([suite.nsys, *PROFILE, str(base), *command],
                         suite.logs / f"{stem}-{rank}.log", {**own, **place}))
        exports.append(([suite.nsys, "export", "--type", "sqlite", "--force-overwrite", "true",
                         "-o", f"{base}.sqlite", f"{base}.nsys-rep"],
                        suite.logs / f"{stem}-{rank}-export.log", own))
    run_job(profiles, deadline - time.monotonic())
    run_job(exports, deadline - time.monotonic())
    found = []
    for rank in range(len(exports)):
        found.append(nsys_trace.read(folder / f"{stem}-{rank}.sqlite", WARMUP))
        for path in folder.glob(f"{stem}-{rank}.*"):
            path.unlink()
    return found


def check_steps(runs):
    for records in itertools.chain.from_iterable(itertools.chain.from_iterable(runs)):
        if len(records.steps) != STEPS:
            raise Failed(f"a run has {len(records.steps)} steps instead of {STEPS}")


def spread(values):
    return max(values) - min(values)


def row(what, ours, nsys):
    """`ours`, `nsys`: a value a run; None where a run had none."""
    if None in ours or None in nsys:
        return {"what": what, "ours": None, "nsys": None, "difference": None, "spread_ours": None,
                "spread_nsys": None, "fine": "NO, one side alone has it"}
    a, b = statistics.fmean(ours), statistics.fmean(nsys)
    by_chance = spread(ours)
    if abs(a - b) <= by_chance:
        fine = "yes"
    elif what.endswith("ms") and abs(a - b) <= NEAR * b:
        fine = f"yes, within {NEAR:.0%}"
    else:
        fine = "NO"
    return {"what": what, "ours": a, "nsys": b, "difference": a - b, "spread_ours": by_chance,
            "spread_nsys": spread(nsys), "fine": fine}


def lay_side_by_side(ours, nsys):
    """Two lists of runs, each a list of Records by rank."""
    # Ranges that one side alone marks (only while recording, say) count for neither.
    phases = set.intersection(*(set().union(*map(phases_of, run)) for run in [*ours, *nsys]))
    counts_a = [[count(records, phases) for records in run] for run in ours]
    counts_b = [[count(records, phases) for records in run] for run in nsys]
    values_a = [quantities(run) for run in counts_a]
    values_b = [quantities(run) for run in counts_b]
    rows = [row(what, [one.get(what) for one in values_a], [one.get(what) for one in values_b])
            for what in dict.fromkeys(itertools.chain(*values_a, *values_b))]
    differing = names_that_differ(counts_a[0], counts_b[0])
    among_ours = names_that_differ(counts_a[0], counts_a[-1])
    names = [len({name for one in run for name in one["by_name"]}) for run in (counts_a[0],
                                                                              counts_b[0])]
    rows.append({"what": "names of kernels; with different counts", "ours": names[0],
                 "nsys": names[1], "difference": len(differing), "spread_ours": len(among_ours),
                 "spread_nsys": len(names_that_differ(counts_b[0], counts_b[-1])),
                 "fine": "yes" if len(differing) <= len(among_ours) else "NO"})
    raw = {what: {side: [[one[what] for one in run] for run in counts]
                  for side, counts in (("ours", counts_a), ("nsys", counts_b))}
           for what in ("without_launch", "kernels_of_steps")}
    return {"rows": rows, "phases": sorted(phases), "differing_names": differing, **raw}


def run(suite, strategy, batch, timeout_s):
    deadline = time.monotonic() + timeout_s
    runs = {run_ours: [], run_nsys: []}
    longest_s = 0.0
    with scratch(suite) as name:
        for index in range(RUNS):
            begin = time.monotonic()
            if index >= LEAST_RUNS and begin + longest_s > deadline:
                suite.say(f"the time is up after {index} of {RUNS} runs a side")
                break
            for side in (run_ours, run_nsys) if index % 2 == 0 else (run_nsys, run_ours):
                stem = f"nsys-twin-{strategy}-{'ours' if side is run_ours else 'nsys'}-{index}"
                runs[side].append(side(suite, strategy, batch, stem, pathlib.Path(name), deadline))
            longest_s = max(longest_s, time.monotonic() - begin)
        check_steps(runs.values())
    return {**lay_side_by_side(runs[run_ours], runs[run_nsys]), "steps": STEPS,
            "runs": len(runs[run_ours])}
