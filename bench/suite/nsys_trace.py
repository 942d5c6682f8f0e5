"""Reads one process of what `nsys export --type sqlite` wrote.

Source of the schema: Nsight Systems' user guide, "SQLite Schema Reference". Tables that would be
empty are not there. A thread is a globalTid, whose upper bits are the globalPid of its process.
"""
import collections
import sqlite3

from suite.nsys_check import DOMAIN, DOMAIN_CREATE, PUSH_POP_RANGE
from suite.processes import Failed
from suite.records import Call, Range, Records, Work, readable

CATEGORY_NAME = 33
PROCESS = "globalTid & -16777216"

NVTX = f"""
SELECT e.start, e.end, e.globalTid, {PROCESS.replace('globalTid', 'e.globalTid')}, e.eventType,
       COALESCE(e.text, s.value), {{category}}, e.domainId
FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId
WHERE e.eventType IN ({PUSH_POP_RANGE}, {DOMAIN_CREATE}, {CATEGORY_NAME}) ORDER BY e.start
"""
KERNELS = """
SELECT k.start, k.end, k.correlationId, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k
LEFT JOIN StringIds s ON s.id = k.{name} WHERE k.globalPid = ?
"""
COPIES = "SELECT start, end, correlationId FROM CUPTI_ACTIVITY_KIND_{what} WHERE globalPid = ?"
CALLS = f"""
SELECT start, end, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE {PROCESS} = ? AND correlationId IS NOT NULL
"""


def columns(connection, table):
    """Empty where there is no such table."""
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def read(path, skipped_steps=0):
    """`skipped_steps`: so many of the first ones are no steps of the result."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        steps, ranges, process = read_ranges(connection, path)
        work = list(read_work(connection, process))
        calls = ([Call(begin, end, thread, correlation)
                  for begin, end, thread, correlation in connection.execute(CALLS, (process,))]
                 if columns(connection, "CUPTI_ACTIVITY_KIND_RUNTIME") else [])
    finally:
        connection.close()
    kept = steps[skipped_steps:]
    return Records(steps=[(begin, end) for begin, end, _ in kept], main=steps[0][2],
                   ranges=ranges, calls=calls, work=work)


def read_ranges(connection, path):
    """([(begin, end, thread)] of the steps, {thread: [Range]}, the process)."""
    has = columns(connection, "NVTX_EVENTS")
    query = NVTX.format(category="e.category" if "category" in has else "NULL")
    rows = connection.execute(query).fetchall() if has else []
    # Names of domains and categories may come after their first use.
    domains = {(process, domain) for *_, process, kind, name, _, domain in rows
               if kind == DOMAIN_CREATE and name == DOMAIN}
    rows = [row for row in rows if (row[3], row[7]) in domains]
    phases = {(process, category): name for *_, process, kind, name, category, _ in rows
              if kind == CATEGORY_NAME}
    steps, ranges, processes = [], collections.defaultdict(list), set()
    for begin, end, thread, process, kind, name, category, _ in rows:
        if kind != PUSH_POP_RANGE or end is None:
            continue
        processes.add(process)
        if name == "step":
            steps.append((begin, end, thread))
        else:
            ranges[thread].append(Range(begin, end, phases.get((process, category), name)))
    if not steps or len(processes) != 1:
        raise Failed(f"{path}: has {len(steps)} ranges \"step\" of {len(processes)} processes in "
                     f"domain {DOMAIN}; it should have those of one process")
    return steps, dict(ranges), processes.pop()


def read_work(connection, process):
    has = columns(connection, "CUPTI_ACTIVITY_KIND_KERNEL")
    if has:
        name = "mangledName" if "mangledName" in has else "demangledName"
        for begin, end, correlation, text in connection.execute(KERNELS.format(name=name),
                                                                (process,)):
            yield Work(begin, end, "kernel", readable(text or "?"), correlation,
                       "communication" if (text or "").find("nccl") >= 0 else "compute")
    for what, kind in (("MEMCPY", "copy"), ("MEMSET", "set")):
        if columns(connection, f"CUPTI_ACTIVITY_KIND_{what}"):
            for begin, end, correlation in connection.execute(COPIES.format(what=what), (process,)):
                yield Work(begin, end, kind, kind, correlation, "copy")
