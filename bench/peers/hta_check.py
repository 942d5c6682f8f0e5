#!/usr/bin/env python3
"""Holds a run's report against HolisticTraceAnalysis (HTA) on the same traces.

HTA reads what `ddpprof export RUN --strategy ddp --to chrome --out FOLDER` wrote; its temporal
breakdown gives, a rank, how long kernels computed, its overlap which share of communication they hid.
The report's figures are means a step, HTA's are sums over the recording, so ours are multiplied by the
number of steps.

Example (a Python with `pip install HolisticTraceAnalysis`):
  ddpprof export RUN --strategy ddp --to chrome --out ddp-traces
  bench/peers/hta_check.py ddp-traces --report RUN/report.json --strategy ddp

HTA rounds each event to whole microseconds unless HTA_DISABLE_NS_ROUNDING is set, as it is here. Exit
code 1 when a figure does not agree.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import sys

SHARE = 0.001  # of the figure
POINTS = 0.1  # of a percentage, of which HTA gives two decimals


def trace_files(folder, strategy):
    files = {}
    for path in sorted(folder.glob(f"{strategy}_rank*.json.gz")):
        files[int(re.fullmatch(r".*_rank(\d+)\.json\.gz", path.name).group(1))] = path
    return files


def count_steps(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return sum(str(event["name"]).startswith("ProfilerStep#") for event in events)


def compute_ms(rank):
    return sum(row["ms"] for row in rank["breakdown"] if row["activity"] == "compute")


def hidden_share(rank):
    reduced = rank["all_reduce"]
    return reduced["hidden_ms"] / reduced["total_ms"] if reduced and reduced["total_ms"] else None


def rows_of(report, steps, breakdown, overlap):
    """(what, ours, HTA's, how far they may be apart)"""
    for rank in report["per_rank"]:
        number = rank["rank"]
        ours_us = 1000 * compute_ms(rank) * steps[number]
        yield f"rank {number} compute, us", ours_us, breakdown[number], SHARE * ours_us
        share = hidden_share(rank)
        if share is not None:
            yield f"rank {number} all-reduce hidden, %", 100 * share, overlap[number], POINTS


def by_rank(table, column):
    return {int(row["rank"]): float(row[column]) for _, row in table.iterrows()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="of the exported traces")
    parser.add_argument("--report", type=pathlib.Path, required=True, help="the run's report.json")
    parser.add_argument("--strategy", default="ddp")
    options = parser.parse_args()
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis  # reads the variable

    files = trace_files(options.folder, options.strategy)
    if not files:
        parser.error(f"{options.folder}: no {options.strategy}_rank<r>.json.gz in it")
    report = json.loads(options.report.read_text(encoding="utf-8"))["strategies"][options.strategy]
    steps = {rank: count_steps(path) for rank, path in files.items()}
    hta = TraceAnalysis(trace_files={rank: str(path) for rank, path in files.items()}, trace_dir="",
                        include_last_profiler_step=True)
    breakdown = by_rank(hta.get_temporal_breakdown(visualize=False), "compute_time(us)")
    overlap = {}
    if len(files) > 1:
        overlap = by_rank(hta.get_comm_comp_overlap(visualize=False), "comp_comm_overlap_pctg")
    are_fine = True
    for what, ours, theirs, slack in rows_of(report, steps, breakdown, overlap):
        is_fine = abs(ours - theirs) <= slack
        are_fine = are_fine and is_fine
        print(f"{what:28} ours {ours:14.2f}   HTA {theirs:14.2f}   may differ by {slack:10.2f}   "
              f"{'yes' if is_fine else 'NO'}")
    return 0 if are_fine else 1


if __name__ == "__main__":
    sys.exit(main())
