"""Counts and GPU time of one process, each piece of work with the step and phase of its launch.

The same for records of Nsight Systems and of ddpprof, so that the two can be laid side by side.
"""
import collections
import re

from suite.records import group, place_work

ALL_REDUCE = re.compile(r"nccl\w*AllReduce")
NCCL = re.compile(r"^(?:\w+ )?nccl")


def count(records, phases):
    """Means a step. `phases`: which ranges count; work in others is the range's around them."""
    placed, unknown = place_work(records, phases)
    steps = len(records.steps)
    kernels = [one for one in placed if one.work.kind == "kernel"]
    by_step = collections.Counter(one.step for one in kernels)
    phase_ms = collections.Counter()
    for one in placed:
        if not NCCL.match(one.work.name):
            phase_ms[one.phase] += (one.work.end - one.work.begin) / 1e6 / steps
    return {"steps": steps,
            "kernels_of_steps": [by_step[step] for step in range(steps)],
            "kernels": len(kernels) / steps,
            "copies": sum(one.work.kind == "copy" for one in placed) / steps,
            "sets": sum(one.work.kind == "set" for one in placed) / steps,
            "by_name": {name: len(those) / steps for name, those in
                        sorted(group(kernels, lambda one: one.work.name).items())},
            "all_reduce_ms_of_steps": all_reduces(kernels, steps),
            "phase_ms": dict(sorted(phase_ms.items())),
            "without_launch": unknown}


def all_reduces(kernels, steps):
    """Of each step the durations of its all-reduce kernels, in order of their start."""
    found = [[] for _ in range(steps)]
    for one in sorted(kernels, key=lambda one: one.work.begin):
        if ALL_REDUCE.search(one.work.name):
            found[one.step].append((one.work.end - one.work.begin) / 1e6)
    return found


def least_of_ranks_ms(counts):
    """A step's all-reduces without waiting for another rank: of each the shortest over the ranks.

    None where the ranks had different numbers of them, or none.
    """
    total = 0.0
    for of_ranks in zip(*(one["all_reduce_ms_of_steps"] for one in counts)):
        if len({len(durations) for durations in of_ranks}) != 1 or not of_ranks[0]:
            return None
        total += sum(min(durations) for durations in zip(*of_ranks))
    return total / counts[0]["steps"]


def quantities(counts):
    """{what: number} of the ranks of one run."""
    found = {}
    for rank, one in enumerate(counts):
        of_rank = {"kernels": one["kernels"], "copies": one["copies"], "sets": one["sets"]}
        if any(one["all_reduce_ms_of_steps"]):
            of_rank["all-reduce kernels, ms"] = (
                sum(map(sum, one["all_reduce_ms_of_steps"])) / one["steps"])
        of_rank.update({f"{phase} on the GPU, ms": ms for phase, ms in one["phase_ms"].items()})
        place = f"rank {rank} " if len(counts) > 1 else ""
        found.update({place + what: value for what, value in of_rank.items()})
    if len(counts) > 1 and least_of_ranks_ms(counts) is not None:
        found["all-reduce kernels, least of the ranks, ms"] = least_of_ranks_ms(counts)
    return found


def names_that_differ(these, those):
    """{rank and name: (a step in these, in those)} of two lists of counts by rank."""
    found = {}
    for rank, (one, other) in enumerate(zip(these, those)):
        for name in sorted({*one["by_name"], *other["by_name"]}):
            pair = one["by_name"].get(name, 0), other["by_name"].get(name, 0)
            if pair[0] != pair[1]:
                found[f"rank {rank} {name}"] = pair
    return found
