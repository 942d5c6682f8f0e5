"""Reads the traces that ddpprof writes (profiler/formats/README.md)."""
import collections
import gzip
import json
import re

from suite.records import Call, Collective, Range, Records, Work, readable

EVENT = re.compile(rb'\{"ph": "X","cat": "(\w+)"')
KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}
GZIP = b"\x1f\x8b"


def open_plain(path):
    with open(path, "rb") as file:
        is_packed = file.read(2) == GZIP
    return gzip.open(path, "rb") if is_packed else open(path, "rb")


def measure(path):
    """Bytes, packed and plain, and events, without keeping the text: one line is one event."""
    plain, steps = 0, 0
    events = collections.Counter()
    head = []
    with open_plain(path) as file:
        for line in file:
            plain += len(line)
            found = EVENT.match(line)
            if found:
                events[found[1].decode()] += 1
                steps += line.startswith(b"ProfilerStep#", len(found[0]) + len(b',"name": "'))
            elif not events:
                head.append(line)
    about = parse_head(b"".join(head))
    return {"gz_bytes": path.stat().st_size, "plain_bytes": plain, "events": dict(events),
            "steps": steps, **about}


def read_head(path):
    """What measure() says of the recording, without the events."""
    head = []
    with open_plain(path) as file:
        for line in file:
            if EVENT.match(line):
                break
            head.append(line)
    return parse_head(b"".join(head))


def parse_head(text):
    """Of the lines ahead of the events."""
    end = text.rindex(b'"traceEvents": [')
    head = json.loads(text[:end] + b'"traceEvents": []}')["ddpprof"]
    return {"recorder": head.get("recorder"), "dropped_records": head["dropped_records"],
            "issues": [{"code": issue["code"], "text": issue["text"], "count": issue["count"]}
                       for issue in head["issues"]],
            "collector_overheads_ns": head.get("collector_overheads_ns")}


def span_of(event):
    """In a double microseconds since boot are exact to the nanosecond for about 50 days."""
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000)


def read(path):
    with open_plain(path) as file:
        trace = json.load(file)
    threads = trace["ddpprof"]["threads"]
    main = next((i for i, thread in enumerate(threads) if thread["is_main"]), 0)
    records = Records(steps=[], main=main, ranges=collections.defaultdict(list), calls=[], work=[])
    visits = []
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            add(records, visits, event, event["args"])
    records.steps.sort()
    records.rows = rows_of(visits)
    return records


def add(records, visits, event, args):
    begin, end = span_of(event)
    category = event["cat"]
    if category in KINDS:
        records.work.append(Work(begin, end, KINDS[category], readable(event["name"]),
                                 args["correlation"], args["activity"]))
    elif category in ("cuda_runtime", "cuda_driver"):
        records.calls.append(Call(begin, end, args["thread"], args["correlation"]))
    elif category == "user_annotation" and "collective" in args:
        records.collectives.append(Collective(
            begin, end, (args["Process Group Name"], args["Seq"], args["collective"],
                         args["bytes"]), args["gradient"]))
    elif category == "user_annotation" and "phase" in args:
        records.ranges[args["thread"]].append(Range(begin, end, args["phase"]))
    elif category == "user_annotation" and "step" in args:
        records.steps.append((begin, end))
        visits.append((begin, end, args["step"], args["visit"]))


def rows_of(visits):
    """Hulls of the steps of one visit that follow each other."""
    rows = []
    last = None
    for begin, end, step, visit in sorted(visits):
        if last == (step - 1, visit):
            rows[-1] = (rows[-1][0], end)
        else:
            rows.append((begin, end))
        last = (step, visit)
    return rows
