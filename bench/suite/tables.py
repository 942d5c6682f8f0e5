"""Records to lines of text; what is not known is an em dash."""
from suite import recorder_tables
from suite.cells import DASH, between, number

HEADERS = {
    "twin": ["", "C++ ms", "Python ms", "host of Python", "C++ / Python", "min to max, rounds"],
    "dp-threads": ["", "side", "ms", "p10 to p90", "/ Python", "min to max, rounds"],
    "links": ["", "strategy", "ms", "ci95", "transfer ms", "busbw GB/s", "exposed ms"],
    "default-run": ["", "wall s", "printed"],
    "nsys": ["", "process", "steps", "ranges of names", "missing"],
    **recorder_tables.HEADERS,
}


def twin_rows(unit, result):
    cpp, python = result["sides"]["C++"], result["sides"]["Python"]
    ratio = result["ratios"]["C++ / Python"]
    return [[unit, number(cpp["median_ms"]), number(python["median_ms"]),
             number(python["host_median_ms"]), number(ratio["median"], 3),
             f"{between(ratio['min'], ratio['max'], 3)}, {result['rounds']}"]]


def dp_rows(unit, result):
    ratios = {name.split(" / ")[0]: (name.split(" / ")[1], of_side)
              for name, of_side in result["ratios"].items()}
    rows = []
    for name, side in result["sides"].items():
        _, ratio = ratios.get(name, (None, None))
        rows.append([unit, name, number(side["median_ms"]), between(side["p10_ms"], side["p90_ms"]),
                     number(ratio and ratio["median"], 3),
                     f"{between(ratio['min'], ratio['max'], 3)}, {result['rounds']}" if ratio
                     else DASH])
    return rows


def link_rows(unit, result):
    rows = []
    for key, of_strategy in result["strategies"].items():
        step, reduced = of_strategy["step_ms"], of_strategy["all_reduce"]
        rows.append([unit, key, number(step["median"]), between(*(step["ci95"] or [None, None])),
                     number(reduced["transfer_ms"]), number(reduced["busbw_gb_per_s"], 1),
                     number(reduced["exposed_ms"])])
    return rows


def default_rows(unit, result):
    return [[unit, number(result["wall_seconds"], 1), result["stdout"]]]


def nsys_rows(unit, result):
    rows = []
    for process in result["processes"]:
        counts = process["counts"]
        rows.append([unit, process["label"], str(counts.get("step", 0)),
                     " ".join(f"{name}:{count}" for name, count in counts.items()
                              if name != "step"), " ".join(process["missing"]) or DASH])
    rows.append([unit, f"{result['processes_found']} of {result['processes_expected']} processes",
                 "", "all ranges are there" if result["is_fine"] else "NOT ALL RANGES ARE THERE",
                 ""])
    for one in result.get("recorders", []):  # not in records of older versions
        rows.append([unit, one["process"], "", f"recorded by {one['recorder']}",
                     one["reason"] or DASH])
    return rows


ROWS = {"twin": twin_rows, "dp-threads": dp_rows, "links": link_rows,
        "default-run": default_rows, "nsys": nsys_rows, **recorder_tables.ROWS}


def lines(kind, records):
    """A table of records of one kind."""
    rows = [HEADERS[kind]]
    for record in records:
        rows += ROWS[kind](record["unit"], record["result"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in rows]


def all_lines(records):
    """The newest record of each unit, a table a kind."""
    newest = {}
    for record in records:
        if record["kind"] in ROWS:
            newest[record["unit"]] = record
    found = []
    for kind in HEADERS:
        of_kind = [record for record in newest.values() if record["kind"] == kind]
        if of_kind:
            found += ["", f"[{kind}]", *lines(kind, of_kind)]
    return found
