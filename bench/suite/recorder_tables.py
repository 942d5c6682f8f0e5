"""Tables of the items overhead, nsys-twin and why-ddp."""
from suite.cells import DASH, interval, number

HEADERS = {
    "overhead": ["", "strategy", "recorder", "off ms", "on ms", "on / off", "95 %", "pairs", "goal",
                 "", "start ms", "first", "records a step", "B each, gz", "plain", "lost"],
    "nsys-twin": ["", "a step", "ours", "nsys", "difference", "A/A", "fine"],
    "why-ddp": ["", "what", "rank", "step ms", "launches", "us apart", "ms in them", "busy ms",
                "stall host", "sync", "latency", "queued", "bucket copies", "ms", "exposed wait",
                "exposed transfer"],
}


def overhead_rows(unit, result):
    rows = []
    for side in result["sides"]:
        ratio, trace = side["on_over_off"], side["trace"]
        rows.append([unit, f"{side['strategy']}, batch {side['batch']}", side["recorder"],
                     number(side["off_ms"]), number(side["on_ms"]), number(ratio["median"], 4),
                     interval(ratio["ci95"], 4), str(ratio["count"]), f"{side['goal']:.1%}",
                     side["verdict"], number(side["start_ms"]), number(side["first_start_ms"]),
                     number(trace["records_a_step"], 0), number(trace["gz_bytes_a_record"], 1),
                     number(trace["plain_bytes_a_record"], 0), str(trace["dropped_records"])])
    for one in result["left_behind"]:
        ratio = one["cupti_off_over_events_off"]
        rows.append([unit, one["strategy"], "cupti off / events off", "", "",
                     number(ratio["median"], 4), interval(ratio["ci95"], 4), str(ratio["count"]),
                     *[""] * 8])
    return with_time(rows, result)


def twin_rows(unit, result):
    rows = [[unit, row["what"], number(row["ours"], 3), number(row["nsys"], 3),
             number(row["difference"], 3), number(row["spread_ours"], 3), row["fine"]]
            for row in result["rows"]]
    for name, (ours, nsys) in list(result["differing_names"].items())[:10]:
        rows.append([unit, f"  {name[:70]}", number(ours, 1), number(nsys, 1),
                     number(ours - nsys, 1), "", ""])
    return with_time(rows, result)


def why_rows(unit, result):
    rows = []
    for row in result["rows"]:
        stall = row.get("stall_ms") or {}
        rows.append([unit, row["what"], str(row["rank"]), number(row["step_ms"]),
                     number(row["launches"], 0), number(row["apart_us"], 1),
                     number(row["launch_ms"]), number(row["busy_ms"]),
                     *(number(stall.get(kind)) for kind in ("host", "sync", "latency", "queued")),
                     number(row["bucket_copies"], 0), number(row["bucket_copy_ms"]),
                     number(row.get("exposed_wait_ms")), number(row.get("exposed_transfer_ms"))])
    for what, ratio in result.get("ratios", {}).items():
        rows.append([unit, f"{what}: {number(ratio['median'], 3)} ({interval(ratio['ci95'])})",
                     *[""] * 14])
    return with_time(rows, result)


def with_time(rows, result):
    """Says how long it took."""
    seconds = result.get("took_s")
    width = len(rows[0])
    return [*rows, ["", f"took {DASH if seconds is None else round(seconds)} s",
                    *[""] * (width - 2)]]


ROWS = {"overhead": overhead_rows, "nsys-twin": twin_rows, "why-ddp": why_rows}
