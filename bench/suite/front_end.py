"""Items links, default-run and nsys: `ddpprof compare` as a user runs it."""
import json
import os
import shutil

from suite import nsys_check
from suite.processes import Failed, run_command

# What NCCL may use; everything else is inherited.
LINKS = {"default": [], "no P2P": ["--link", "shm"], "sockets": ["--link", "socket"]}
LINK_ROUNDS, LINK_STEPS = 4, 10
NSYS_ROUNDS, NSYS_STEPS = 2, 5


def device_flags(suite):
    if suite.device == "cuda":
        return ["--gpus", str(suite.gpus)]
    return ["--device", "cpu", "--workers", str(suite.gpus)]


def size_flags(suite):
    flags = ["--workload", "bert-base", "--seq", str(suite.seq), "--precision", suite.precision]
    for name in ("layers", "width", "vocab", "threads"):
        if getattr(suite, name) is not None:
            flags += [f"--{name}", str(getattr(suite, name))]
    return flags


def compare(suite, name, flags, timeout_s, more_environment=None):
    """Returns report.json."""
    out = suite.folder / name
    command = [str(suite.ddpprof), "compare", *device_flags(suite), *flags, "--out", str(out),
               "--force", "--quiet"]
    run_command(command, suite.logs / f"{name}.log", timeout_s, more_environment,
                stdout=suite.logs / f"{name}.out")
    return json.loads((out / "report.json").read_text(encoding="utf-8"))


def run_link(suite, batch, link, timeout_s):
    """Under one setting of NCCL: the figures of each strategy."""
    name = f"links-{batch}-{link.replace(' ', '-')}"
    flags = [*size_flags(suite), "--batch", str(batch), "--rounds", str(LINK_ROUNDS), "--steps",
             str(LINK_STEPS), *LINKS[link]]
    report = compare(suite, name, flags, timeout_s)
    shutil.rmtree(suite.folder / name / "traces", ignore_errors=True)  # large, and not asked for
    strategies = {}
    for key, of_strategy in report["strategies"].items():
        reduced = of_strategy.get("all_reduce") or {}
        step = of_strategy["step_ms"]
        strategies[key] = {
            "step_ms": {part: step.get(part) for part in ("median", "p10", "p90", "ci95")},
            "all_reduce": {part: reduced.get(part) for part in
                           ("count", "bytes", "total_ms", "exposed_ms", "wait_ms", "transfer_ms",
                            "busbw_gb_per_s")}}
    return {"strategies": strategies, "comparison": report.get("comparison"),
            "machine": report.get("machine"), "verdict": report.get("verdict")}


def run_default(suite, timeout_s):
    """`ddpprof compare`, no flags: how long a user waits, and what they read."""
    where = suite.folder / "default-run"
    where.mkdir(exist_ok=True)
    printed = where / "stdout.txt"
    seconds = run_command([str(suite.ddpprof), "compare"], where / "stderr.txt", timeout_s,
                          cwd=where, stdout=printed)
    shown = printed.read_text(encoding="utf-8").splitlines()
    return {"wall_seconds": seconds, "stdout": str(printed),
            "first_lines": [line for line in shown if line][:6]}


def nsys_environment(suite):
    """Libraries that nsys alone needs."""
    if suite.nsys_lib is None:
        return {}
    own = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": suite.nsys_lib + (f":{own}" if own else "")}


def with_own_libraries(command):
    """`command` with this process's LD_LIBRARY_PATH, whatever nsys was given."""
    own = os.environ.get("LD_LIBRARY_PATH")
    change = ["-u", "LD_LIBRARY_PATH"] if own is None else [f"LD_LIBRARY_PATH={own}"]
    return ["env", *change, *command]


def run_nsys(suite, timeout_s):
    """Whether Nsight Systems sees ddpprof's ranges in each process."""
    folder = suite.folder / "nsys"
    folder.mkdir(exist_ok=True)
    report, database = folder / "run.nsys-rep", folder / "run.sqlite"
    command = [str(suite.ddpprof), "compare", *device_flags(suite), "--steps", str(NSYS_STEPS),
               "--rounds", str(NSYS_ROUNDS), "--out", str(folder / "run"), "--force"]
    profile = [suite.nsys, "profile", "-t", "cuda,nvtx", "--sample=none", "--cpuctxsw=none", "-o",
               str(folder / "run"), "--force-overwrite", "true"]
    variables = nsys_environment(suite)
    seconds = run_command([*profile, *with_own_libraries(command)], suite.logs / "nsys-profile.log",
                          timeout_s, variables)
    if not report.exists():
        there = sorted(path.name for path in folder.iterdir())
        raise Failed(f"nsys made no {report.name}; there are {there}",
                     suite.logs / "nsys-profile.log")
    run_command([suite.nsys, "export", "--type", "sqlite", "-o", str(database),
                 "--force-overwrite", "true", str(report)], suite.logs / "nsys-export.log",
                max(30, timeout_s - seconds), variables)
    found = nsys_check.check(database, suite.gpus)
    database.unlink()  # large, and made again by nsys export
    if not found["is_fine"]:
        raise Failed(f"ranges are missing: {found['processes']}")
    recorders = nsys_check.check_recorders(folder / "run")
    if not all(one["is_fine"] for one in recorders):
        raise Failed(f"phases alone were timed and nobody said why: {recorders}")
    return {**found, "recorders": recorders, "wall_seconds": seconds, "report": str(report)}
