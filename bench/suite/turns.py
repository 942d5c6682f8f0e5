"""Programs that train the same, one beside the other: all stay warm, and take turns A B, B A, ...

Drift of the machine then hits all alike, and a round's ratio compares neighbours in time.
"""
import dataclasses
import statistics
import time

from suite.processes import DISCARDED_STEPS, Failed, Trainer, Twin

LEAST_ROUNDS = 2  # of which figures are made when the time is up


@dataclasses.dataclass
class Visit:
    """Of one turn, without the discarded steps."""
    steps_ms: list  # rank 0's
    rank_mean_ms: list
    host_ms: list  # when the host was done with a step; of a trainer: not known
    peak_memory_bytes: list  # a device; of a trainer: not known


class TrainerSide:
    """ddpprof-train as one side: one process, or `ranks` of them under ddp."""

    def __init__(self, name, command, log_stem, ranks=None):
        self.name, self.command, self.log_stem, self.ranks = name, command, log_stem, ranks
        self.members = []

    def start(self, deadline):
        if self.ranks is None:
            self.start_member(self.name, {})
            return
        port = 0
        for rank in range(self.ranks):
            self.start_member(f"{self.name} rank {rank}", {
                "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": self.ranks,
                "LOCAL_WORLD_SIZE": self.ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
            if rank == 0:
                port = self.members[0].expect("port", deadline)["port"]

    def start_member(self, name, place):
        log = f"{self.log_stem}-{len(self.members)}.log"
        variables = {"TORCH_CPP_LOG_LEVEL": "ERROR", **{k: str(v) for k, v in place.items()}}
        self.members.append(Trainer(name, self.command, log, variables))

    def await_ready(self, deadline):
        ready = [member.expect("ready", deadline) for member in self.members]
        return {"torch": ready[0]["torch_version"], "devices": ready[0]["devices"]}

    def visit(self, steps, round_index, deadline):
        for member in self.members:
            member.send({"type": "run", "steps": steps, "discarded": DISCARDED_STEPS,
                         "record": False, "visit": round_index})
        times = []
        for member in self.members:
            ends = member.expect("ran", deadline)["step_ends_ns"]
            times.append([(b - a) / 1e6 for a, b in zip(ends, ends[1:])])
        return Visit(times[0], [statistics.fmean(rank) for rank in times], [], [])

    def finish(self, deadline):
        for member in self.members:
            member.send({"type": "finish"})
        for member in self.members:
            member.expect("done", deadline)

    def end(self):
        for member in self.members:
            member.end()


class TwinSide:
    """The twin as one side."""

    def __init__(self, name, command, log_stem):
        self.name, self.command, self.log = name, command, f"{log_stem}.log"
        self.process = None

    def start(self, deadline):
        self.process = Twin(self.name, self.command, self.log)

    def await_ready(self, deadline):
        ready = self.process.read(deadline)
        return {"torch": ready["torch"], "devices": ready["device"]}

    def visit(self, steps, round_index, deadline):
        self.process.send(f"run {steps}")
        answer = self.process.read(deadline)
        return Visit(answer["steps_ms"], answer["rank_mean_ms"], answer["host_ms"],
                     answer["peak_memory_bytes"])

    def finish(self, deadline):
        self.process.send("quit")
        self.process.exit_text()

    def end(self):
        if self.process is not None:
            self.process.end()


def take_turns(sides, rounds, steps, deadline, say=lambda text: None):
    """Returns (visits[side's name], readiness[side's name]).

    When the time is up the rounds so far count, if they are enough.
    """
    visits = {side.name: [] for side in sides}
    try:
        for side in sides:
            side.start(deadline)
        readiness = {side.name: side.await_ready(deadline) for side in sides}
        longest_s = 0.0
        for index in range(rounds):
            begin = time.monotonic()
            if index >= LEAST_ROUNDS and begin + longest_s > deadline:
                say(f"the time is up after {index} of {rounds} rounds")
                break
            for side in sides if index % 2 == 0 else reversed(sides):
                visits[side.name].append(side.visit(steps, index, deadline))
            longest_s = max(longest_s, time.monotonic() - begin)
        for side in sides:
            side.finish(max(deadline, time.monotonic() + 10))
        return visits, readiness
    finally:
        for side in sides:
            side.end()


def quantile(values, q):
    """Between order statistics, as profiler/README.md has it."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def figures(visits):
    """Of one side over its rounds."""
    steps = [ms for visit in visits for ms in visit.steps_ms]
    host = [ms for visit in visits for ms in visit.host_ms]
    return {"median_ms": statistics.median(steps), "p10_ms": quantile(steps, 0.1),
            "p90_ms": quantile(steps, 0.9),
            "round_medians_ms": [statistics.median(visit.steps_ms) for visit in visits],
            "slowest_rank_mean_ms": statistics.fmean(max(v.rank_mean_ms) for v in visits),
            "host_median_ms": statistics.median(host) if host else None,
            "peak_memory_bytes": visits[-1].peak_memory_bytes or None}


def ratio(side, base):
    """Of two figures(): the rounds' ratios of medians."""
    if len(side["round_medians_ms"]) != len(base["round_medians_ms"]):
        raise Failed("two sides had different numbers of rounds")
    rounds = [a / b for a, b in zip(side["round_medians_ms"], base["round_medians_ms"])]
    return {"median": statistics.median(rounds), "min": min(rounds), "max": max(rounds),
            "rounds": rounds}
