"""Looks for ddpprof's NVTX ranges in a report that `nsys export --type sqlite` wrote.

Source of the schema: Nsight Systems' user guide, "SQLite Schema Reference". A name is in `text`, or
in StringIds by `textId`; a range's domain is the event of type 75 of the same process and domainId.
"""
import collections
import sqlite3

from suite import native_trace

DOMAIN = "ddpprof"
DOMAIN_CREATE = 75
PUSH_POP_RANGE = 59
PROCESS_ID = "(globalTid >> 24) & 0xFFFFFF"

# A trainer that may not have CUPTI, which nsys holds, says so in its trace and in rank 0's log.
EVENT_RECORDER = "cuda-events"
ISSUE = "recorded-without-cupti"
SAID = "phases alone are timed on the GPU: "

OF_ALL = ("step", "data", "forward", "loss", "backward", "optimizer")
OF_DP = ("scatter", "replicate", "parallel_apply", "gather")

QUERY = f"""
SELECT e.pid, COALESCE(e.text, s.value) AS name, COUNT(*)
FROM (SELECT {PROCESS_ID} AS pid, * FROM NVTX_EVENTS WHERE eventType = {PUSH_POP_RANGE}) e
LEFT JOIN StringIds s ON s.id = e.textId
JOIN (SELECT {PROCESS_ID} AS pid, d.domainId, COALESCE(d.text, n.value) AS name
      FROM NVTX_EVENTS d LEFT JOIN StringIds n ON n.id = d.textId
      WHERE d.eventType = {DOMAIN_CREATE}) domain
  ON domain.pid = e.pid AND domain.domainId = e.domainId
WHERE domain.name = ?
GROUP BY 1, 2 ORDER BY 1, 2
"""


def count_ranges(path):
    """{process id: {name: count}}, in the order of the ids."""
    counts = collections.defaultdict(dict)
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        for pid, name, count in connection.execute(QUERY, (DOMAIN,)):
            counts[pid][name] = count
    finally:
        connection.close()
    return dict(counts)


def label_processes(counts, ranks):
    """[(label, process id, names that are missing)].

    Processes are started in the order single, dp, rank 0, ...; dp is known by its replicate.
    """
    labels = ["single", "dp", *(f"ddp rank {rank}" for rank in range(ranks))]
    found = []
    for label, (pid, names) in zip(labels, sorted(counts.items())):
        needed = OF_ALL + (OF_DP if label == "dp" else ())
        found.append((label, pid, [name for name in needed if not names.get(name)]))
    return found


def check(path, ranks):
    """What report and table say of it; `is_fine` when every process has every range."""
    counts = count_ranges(path)
    labelled = label_processes(counts, ranks)
    processes = [{"label": label, "pid": pid, "counts": counts[pid], "missing": missing}
                 for label, pid, missing in labelled]
    expected = ranks + 2
    return {"processes": processes, "processes_found": len(counts),
            "processes_expected": expected,
            "is_fine": len(counts) == expected and not any(p["missing"] for p in processes)}


def check_recorders(run):
    """What recorded each process of the run folder `run`, and whether it said why it saw less."""
    found = []
    for trace in sorted((run / "traces").glob("*.json.gz")):
        head = native_trace.read_head(trace)
        name = trace.name.removesuffix(".json.gz")
        reason = next((issue["text"] for issue in head["issues"] if issue["code"] == ISSUE), None)
        log = run / "logs" / f"{name}.log"
        is_said = log.exists() and SAID in log.read_text(encoding="utf-8", errors="replace")
        is_fine = head["recorder"] != EVENT_RECORDER or (
            reason is not None and (is_said or not name.endswith("_rank0")))
        found.append({"process": name, "recorder": head["recorder"], "reason": reason,
                      "said_in_log": is_said, "is_fine": is_fine})
    return found
