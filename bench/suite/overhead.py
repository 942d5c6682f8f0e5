"""Item overhead: what recording costs.

A warm trainer a strategy and recorder; pairs of visits, one recorded and one not, of all of them in
turns. Two regimes: where launching is the limit, and where the kernels are.
"""
import pathlib
import statistics
import time

from suite.estimates import estimate
from suite.recording import RECORDERS, RecordingSide, scratch, share_of, size_of
from suite.turns import standing

STRATEGIES = ("single", "dp", "ddp")
# How many pairs; which strategies stand side by side, as far as the memory of a GPU goes.
REGIMES = {"launch-bound": (32, [STRATEGIES]),
           "large-kernels": (20, [(strategy,) for strategy in STRATEGIES])}
GOALS = {("launch-bound", "cupti"): 0.02, ("large-kernels", "cupti"): 0.001}
EVENTS_GOAL = 0.005

STEPS = 5  # of a visit that count; few, so that traces stay small
SETTLING = 2  # after the trainer's own discarded ones: the switch itself drains the device
STARTS = 6  # visits of one step, on and off, that show what the switch costs
LEAST_PAIRS = 4  # of which figures are made when the time is up
READING_S = 15  # of the time left, for the traces


def goal_of(regime, recorder):
    return GOALS.get((regime, recorder), EVENTS_GOAL)


def verdict(ratio, goal):
    """`ratio`: an estimate of on / off."""
    if ratio["ci95"] is None:
        return "cannot tell"
    low, high = ratio["ci95"]
    return "met" if high <= 1 + goal else "not met" if low > 1 + goal else "cannot tell"


def step_ms(visit):
    """Median over the steps that count of the mean over ranks."""
    return statistics.median(statistics.fmean(step) for step in
                             list(zip(*visit.by_rank_ms))[SETTLING:])


class Pairs:
    """What one trainer did."""

    def __init__(self, side, strategy, recorder):
        self.side, self.strategy, self.recorder = side, strategy, recorder
        self.visits_count = 0
        self.off_ms, self.on_ms, self.starts_s = [], [], {False: [], True: []}

    def visit(self, steps, record, deadline):
        self.visits_count += 1  # visits that are recorded need different numbers
        return self.side.visit(steps, self.visits_count, deadline, record)

    def measure_start(self, deadline):
        for index in range(STARTS):
            for record in order_of(index):
                self.starts_s[record].append(self.visit(1, record, deadline).wall_s)

    def measure_pair(self, index, deadline):
        for record in order_of(index):
            times = self.on_ms if record else self.off_ms
            times.append(step_ms(self.visit(SETTLING + STEPS, record, deadline)))

    def figures(self, regime, batch):
        ratios = [on / off for on, off in zip(self.on_ms, self.off_ms)]
        off_s, on_s = self.starts_s[False], self.starts_s[True]
        goal, ratio = goal_of(regime, self.recorder), estimate(ratios)
        return {"strategy": self.strategy, "recorder": self.recorder, "batch": batch,
                "off_ms": statistics.median(self.off_ms), "on_ms": statistics.median(self.on_ms),
                "on_over_off": ratio, "goal": goal, "verdict": verdict(ratio, goal),
                # The first recording of a process sets up more than those after it.
                "first_start_ms": 1000 * (on_s[0] - statistics.median(off_s)),
                "start_ms": 1000 * statistics.median(
                    on - off for on, off in list(zip(on_s, off_s))[1:]),
                "trace": size_of(self.side.traces()),
                "pairs_ms": list(zip(self.off_ms, self.on_ms))}


def order_of(index):
    return (False, True) if index % 2 == 0 else (True, False)


def take_pairs(members, pairs, deadline, say):
    """Both orders, of on and off and of the trainers, come up equally often."""
    longest_s = 0.0
    for index in range(pairs):
        begin = time.monotonic()
        if index >= LEAST_PAIRS and begin + longest_s > deadline:
            say(f"the time is up after {index} of {pairs} pairs")
            return
        for member in members if index // 2 % 2 == 0 else reversed(members):
            member.measure_pair(index, deadline)
        longest_s = max(longest_s, time.monotonic() - begin)


def left_behind(members):
    """Of each strategy: a trainer that has recorded by CUPTI beside one by events, both off."""
    found = []
    for strategy in dict.fromkeys(member.strategy for member in members):
        cupti, events = (next(member for member in members if (member.strategy, member.recorder) ==
                              (strategy, recorder)) for recorder in RECORDERS)
        found.append({"strategy": strategy, "cupti_off_over_events_off": estimate(
            [a / b for a, b in zip(cupti.off_ms, events.off_ms)])})
    return found


def run(suite, regime, strategies, batch, timeout_s):
    deadline = time.monotonic() + timeout_s
    pairs = suite.pairs or REGIMES[regime][0]
    with scratch(suite) as name:
        folder = pathlib.Path(name)
        members = [Pairs(RecordingSide(suite, f"overhead {regime}", f"{strategy} {recorder}",
                                       strategy, recorder, share_of(suite, strategy, batch),
                                       folder), strategy, recorder)
                   for strategy in strategies for recorder in RECORDERS]
        with standing([member.side for member in members], deadline) as readiness:
            for member in members:
                member.measure_start(deadline)
            take_pairs(members, pairs, deadline - READING_S, suite.say)
        sides = [member.figures(regime, share_of(suite, member.strategy, batch))
                 for member in members]
    about = next(iter(readiness.values()))
    return {"regime": regime, "steps_a_visit": STEPS, "pairs": len(members[0].off_ms),
            "sides": sides, "left_behind": left_behind(members), "torch": about["torch"],
            "devices": about["devices"]}
