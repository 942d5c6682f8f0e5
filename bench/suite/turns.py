"""Programs that train the same, one beside the other: all stay warm, and take turns A B, B A, ...

Drift of the machine then hits all alike, and a round's ratio compares neighbours in time.
"""
import contextlib
import dataclasses
import statistics
import time

from suite.estimates import quantile
from suite.processes import DISCARDED_STEPS, Failed, Trainer, Twin, place_of_rank

LEAST_ROUNDS = 2  # of which figures are made when the time is up
LAST_WORDS_S = 30  # traces are written then


@dataclasses.dataclass
class Visit:
    """Of one turn, without the discarded steps."""
    steps_ms: list  # rank 0's
    rank_mean_ms: list
    host_ms: list  # when the host was done with a step; of a trainer: not known
    peak_memory_bytes: list  # a device; of a trainer: not known
    by_rank_ms: list = dataclasses.field(default_factory=list)  # of a trainer: each rank's steps
    wall_s: float = 0.0  # of a trainer: from the order to the last answer


class TrainerSide:
    """ddpprof-train as one side: one process, or `ranks` of them under ddp."""

    def __init__(self, name, command, log_stem, ranks=None, variables=None):
        self.name, self.command, self.log_stem, self.ranks = name, command, log_stem, ranks
        self.variables = variables or {}
        self.members = []

    def start(self, deadline):
        if self.ranks is None:
            self.start_member(self.name, {})
            return
        port = 0
        for rank in range(self.ranks):
            self.start_member(f"{self.name} rank {rank}", place_of_rank(rank, self.ranks, port))
            if rank == 0:
                port = self.members[0].expect("port", deadline)["port"]

    def start_member(self, name, place):
        log = f"{self.log_stem}-{len(self.members)}.log"
        self.members.append(Trainer(name, self.command, log,
                                    {"TORCH_CPP_LOG_LEVEL": "ERROR", **self.variables, **place}))

    def await_ready(self, deadline):
        ready = [member.expect("ready", deadline) for member in self.members]
        return {"torch": ready[0]["torch_version"], "devices": ready[0]["devices"]}

    def visit(self, steps, round_index, deadline, record=False):
        begin = time.monotonic()
        for member in self.members:
            member.send({"type": "run", "steps": steps, "discarded": DISCARDED_STEPS,
                         "record": record, "visit": round_index})
        times = []
        for member in self.members:
            ends = member.expect("ran", deadline)["step_ends_ns"]
            times.append([(b - a) / 1e6 for a, b in zip(ends, ends[1:])])
        return Visit(times[0], [statistics.fmean(rank) for rank in times], [], [], times,
                     time.monotonic() - begin)

    def ask_to_finish(self):
        for member in self.members:
            member.send({"type": "finish"})

    def await_finish(self, deadline):
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

    def ask_to_finish(self):
        self.process.send("quit")

    def await_finish(self, deadline):
        self.process.exit_text()

    def end(self):
        if self.process is not None:
            self.process.end()


@contextlib.contextmanager
def standing(sides, deadline):
    """Sides from their start to their end; gives {name: readiness}. All finish together."""
    try:
        for side in sides:
            side.start(deadline)
        yield {side.name: side.await_ready(deadline) for side in sides}
        for side in sides:
            side.ask_to_finish()
        end = max(deadline, time.monotonic() + LAST_WORDS_S)
        for side in sides:
            side.await_finish(end)
    finally:
        for side in sides:
            side.end()


def take_turns(sides, rounds, steps, deadline, say=lambda text: None):
    """Returns (visits[side's name], readiness[side's name]).

    When the time is up the rounds so far count, if they are enough.
    """
    visits = {side.name: [] for side in sides}
    with standing(sides, deadline) as readiness:
        longest_s = 0.0
        for index in range(rounds):
            begin = time.monotonic()
            if index >= LEAST_ROUNDS and begin + longest_s > deadline:
                say(f"the time is up after {index} of {rounds} rounds")
                break
            for side in sides if index % 2 == 0 else reversed(sides):
                visits[side.name].append(side.visit(steps, index, deadline))
            longest_s = max(longest_s, time.monotonic() - begin)
    return visits, readiness


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
