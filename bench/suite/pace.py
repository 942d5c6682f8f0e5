"""From our traces of one job: how fast hosts launch, how busy devices are, what ranks wait for."""
import collections
import statistics

from suite.records import Placer, group, launches_of, place_work
from suite.spans import length, subtract, union

BACKWARD = "backward"


def ms_a_step(ns, steps):
    return ns / 1e6 / steps


def host_pace(records):
    """Launches are calls that started device work; times a step."""
    steps = len(records.steps)
    launches = [call for call in launches_of(records).values()
                if records.step_of(call.begin) is not None]
    placer = Placer(records)
    by_phase, phase_ns = collections.Counter(), collections.Counter()
    for call in launches:
        phase = placer.phase(call.thread, call.begin)
        by_phase[phase] += 1 / steps
        phase_ns[phase] += call.end - call.begin
    apart = launches_apart(records, launches)
    return {"launches": len(launches) / steps,
            "launch_ms": ms_a_step(sum(call.end - call.begin for call in launches), steps),
            "calls": sum(records.step_of(call.begin) is not None for call in records.calls) / steps,
            "apart_us": statistics.fmean(apart) / 1000 if apart else None,
            "apart_median_us": statistics.median(apart) / 1000 if apart else None,
            "launches_by_phase": dict(sorted(by_phase.items())),
            "launch_ms_by_phase": {phase: ms_a_step(ns, steps)
                                   for phase, ns in sorted(phase_ns.items())},
            "host_ms_by_phase": host_phases(records)}


def launches_apart(records, launches):
    """Nanoseconds from a launch to the next of the same thread, inside one backward of main."""
    found = []
    for begin, end in main_spans(records).get(BACKWARD, []):
        inside = [call for call in launches if begin <= call.begin < end]
        threads = group(inside, lambda call: call.thread)
        if threads:
            busiest = sorted(max(threads.values(), key=len))
            found += [b.begin - a.begin for a, b in zip(busiest, busiest[1:])]
    return found


def main_spans(records):
    """{phase: when main was in it}, with what was inside; ranges of one phase may nest, too."""
    of_steps = [one for one in records.ranges.get(records.main, [])
                if records.step_of(one.begin) is not None]
    return {phase: union([(one.begin, one.end) for one in those])
            for phase, those in sorted(group(of_steps, lambda one: one.phase).items())}


def host_phases(records):
    return {phase: ms_a_step(length(spans), len(records.steps))
            for phase, spans in main_spans(records).items()}


def device_pace(records):
    steps = len(records.steps)
    placed, _ = place_work(records)
    copies = [one.work for one in placed if one.phase == "bucket_copy"]
    return {"busy_ms": ms_a_step(length(union([work[:2] for work in records.work])), steps),
            "compute_ms": ms_a_step(length(computing(records)), steps),
            "bucket_copies": len(copies) / steps,
            "bucket_copy_ms": ms_a_step(sum(work.end - work.begin for work in copies), steps)}


def computing(records):
    return union([work[:2] for work in records.work if work.activity == "compute"])


def all_reduces(ranks):
    """Of each rank: waits, transfers and their exposed parts, ms a step; of all gradients'.

    As profiler/README.md has it: a rank waits up to the last one's start, and where one collective
    waits and another transfers it is transfer.
    """
    starts = collections.defaultdict(list)
    for records in ranks:
        for one in records.collectives:
            starts[one.key].append(one.begin)
    found = []
    for records in ranks:
        waits, transfers = [], []
        for one in records.collectives:
            if one.gradient and len(starts[one.key]) == len(ranks):
                arrived = max(one.begin, min(max(starts[one.key]), one.end))
                waits.append((one.begin, arrived))
                transfers.append((arrived, one.end))
        steps, busy = len(records.steps), computing(records)
        transferring = union(transfers)
        found.append({
            "all_reduces": len(waits) / steps,
            "wait_ms": ms_a_step(sum(end - begin for begin, end in waits), steps),
            "transfer_ms": ms_a_step(sum(end - begin for begin, end in transfers), steps),
            "exposed_wait_ms": ms_a_step(
                length(subtract(subtract(union(waits), transferring), busy)), steps),
            "exposed_transfer_ms": ms_a_step(length(subtract(transferring, busy)), steps)})
    return found


def of_job(ranks):
    """[figures] of Records by rank."""
    reduced = all_reduces(ranks) if len(ranks) > 1 else [{} for _ in ranks]
    return [{"recorded_step_ms": ms_a_step(length(records.rows), len(records.steps)),
             **host_pace(records), **device_pace(records), **waits}
            for records, waits in zip(ranks, reduced)]
