"""What one process did, from whichever tool saw it, and whose every piece of device work was.

Times are integer nanoseconds on one clock a process.
"""
import bisect
import collections
import ctypes
import dataclasses
import functools
from typing import NamedTuple

OTHER = "other"  # the phase while no range is open


class Range(NamedTuple):
    """A stretch that a thread marked; ranges of a thread nest."""
    begin: int
    end: int
    phase: str


class Call(NamedTuple):
    """Into the runtime or the driver; correlation 0: launches nothing."""
    begin: int
    end: int
    thread: int
    correlation: int


class Work(NamedTuple):
    begin: int
    end: int
    kind: str  # kernel, copy or set
    name: str
    correlation: int
    activity: str  # compute, communication or copy


class Collective(NamedTuple):
    begin: int
    end: int
    key: tuple  # equal on all ranks
    gradient: bool


@dataclasses.dataclass
class Records:
    steps: list  # (begin, end), sorted
    main: int  # the thread that trains
    ranges: dict  # {thread: [Range]}, steps not among them
    calls: list
    work: list
    collectives: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)  # hulls of steps that follow each other

    def step_of(self, time):
        """Which step an instant is in, or None."""
        index = bisect.bisect_right(self.steps, (time, float("inf"))) - 1
        return index if index >= 0 and time < self.steps[index][1] else None


class Innermost:
    """Which of a thread's ranges is the innermost one at an instant."""

    def __init__(self, ranges):
        self.times, self.phases = [], []
        stack = []
        for one in sorted(ranges, key=lambda one: (one.begin, -one.end)):
            self._close(stack, one.begin)
            stack.append(one)
            self._add(one.begin, one.phase)
        self._close(stack, float("inf"))

    def _add(self, time, phase):
        self.times.append(time)
        self.phases.append(phase)

    def _close(self, stack, time):
        while stack and stack[-1].end <= time:
            closed = stack.pop()
            self._add(closed.end, stack[-1].phase if stack else None)

    def at(self, time):
        index = bisect.bisect_right(self.times, time) - 1
        return self.phases[index] if index >= 0 else None


class Placer:
    """The phase of an instant on a thread: its innermost range, else main's, else OTHER."""

    def __init__(self, records, phases=None):
        """`phases`: ranges of others are passed over."""
        self.main = records.main
        self.of_thread = {
            thread: Innermost([one for one in ranges if phases is None or one.phase in phases])
            for thread, ranges in records.ranges.items()}

    def phase(self, thread, time):
        for place in (thread, self.main):
            found = self.of_thread[place].at(time) if place in self.of_thread else None
            if found is not None:
                return found
        return OTHER


class Placed(NamedTuple):
    step: int
    phase: str
    work: Work


def launches_of(records):
    """{correlation: Call} of the calls that started device work."""
    started = {work.correlation for work in records.work if work.correlation}
    launches = {}
    for call in sorted(records.calls):
        if call.correlation in started:
            launches.setdefault(call.correlation, call)  # not the driver's inside the runtime's
    return launches


def place_work(records, phases=None):
    """([Placed], how many pieces have no launch record): of work that was launched in a step."""
    launches = launches_of(records)
    placer = Placer(records, phases)
    placed, unknown = [], 0
    for work in records.work:
        launch = launches.get(work.correlation)
        if launch is None:
            unknown += 1
            continue
        step = records.step_of(launch.begin)
        if step is not None:
            placed.append(Placed(step, placer.phase(launch.thread, launch.begin), work))
    return placed, unknown


def phases_of(records):
    return {one.phase for ranges in records.ranges.values() for one in ranges}


def group(items, key):
    groups = collections.defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


@functools.lru_cache(maxsize=None)
def readable(name):
    """A C++ symbol as this machine's libstdc++ spells it; anything else as it is."""
    if not name.startswith("_Z"):
        return name
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return name
    library.__cxa_demangle.restype = ctypes.c_void_p
    library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
                                       ctypes.POINTER(ctypes.c_int)]
    status = ctypes.c_int(0)
    text = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(text)
