#!/usr/bin/env python3
"""Measures ddpprof's trainers beside PyTorch itself, and `ddpprof compare`, on a machine with GPUs.

Each unit (an item at a batch size, say) is a line of JSON in --out once it is done; a unit that is
there is not run again, so the same command goes on where it was ended. A table of all comes last.

Items:
  twin-single, twin-ddp, twin-dp   C++ and Python in turns, per batch size
  dp-threads                       DP: threads and attention of replicas, C++ and Python
  links                            compare over NVLink, without P2P, and over sockets
  default-run                      compare without a flag
  nsys                             compare under Nsight Systems: are the ranges there?
  overhead                         what recording costs, by CUPTI and by events
  nsys-twin                        the same training seen by ddpprof and by Nsight Systems
  why-ddp                          where DDP's time goes over NVLink and without P2P

Examples:
  gpu_suite.py --bin build/trainers/bin --out results/gpus.jsonl --minutes 9
  gpu_suite.py --bin build/trainers/bin --out results/gpus.jsonl --items twin-ddp --batches 64
  gpu_suite.py --bin build/trainers/bin --out results/gpus.jsonl --items overhead --minutes 4
  gpu_suite.py --bin build/trainers/bin --out cpu.jsonl --device cpu --precision fp32 --layers 2 \\
      --width 128 --seq 16 --batches 8 --rounds 2 --steps 3        (the suite itself, on a CPU)

Exit code 1 when a unit failed, 0 when all are done or were left out for a reason that is printed.
"""
import argparse
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from suite import tables
from suite.ledger import FAILED, Ledger
from suite.processes import Failed
from suite.units import ITEMS, settings_of, units_of

LEAST_SECONDS = 20  # with less left no unit is begun


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--bin", required=True, type=pathlib.Path, help="folder of ddpprof and its trainers")
    add("--out", required=True, type=pathlib.Path, help="results, a file of JSON lines")
    add("--python", default=sys.executable, help="a Python that has PyTorch")
    add("--items", default=",".join(ITEMS))
    add("--minutes", type=float, default=9, help="after which nothing is begun or waited for")
    add("--gpus", type=int, default=2)
    add("--device", choices=["cuda", "cpu"], default="cuda")
    add("--trainer", type=pathlib.Path, help="a trainer elsewhere (DIR/ddpprof-train-cuda)")
    add("--rounds", type=int, default=6, help="turns each side gets")
    add("--steps", type=int, default=20, help="measured steps a turn")
    add("--batches", default="64,512", help="global batches; dp-threads, nsys-twin and why-ddp "
        "take the first, overhead the first for launch-bound and the last for large-kernels")
    add("--pairs", type=int, help="pairs of visits of overhead (default 32 and 20)")
    add("--precision", choices=["bf16", "fp32"], default="bf16")
    add("--seq", type=int, default=128)
    for name in ("layers", "width", "vocab", "threads"):
        add(f"--{name}", type=int)
    add("--nsys", default=shutil.which("nsys"), help="path of nsys")
    add("--nsys-lib", help="LD_LIBRARY_PATH that nsys alone needs")
    options = parser.parse_args(arguments)
    options.items = options.items.split(",")
    for item in options.items:
        if item not in ITEMS:
            parser.error(f"--items {item}: known are {', '.join(ITEMS)}")
    options.batches = [int(batch) for batch in options.batches.split(",")]
    prepare(options, parser)
    return options


def prepare(options, parser):
    # Some commands run in folders of their own.
    options.bin, options.out = options.bin.resolve(), options.out.resolve()
    name = "ddpprof-train-cuda" if options.device == "cuda" else "ddpprof-train"
    options.trainer = (options.trainer or options.bin / name).resolve()
    options.ddpprof = options.bin / "ddpprof"
    for program in (options.trainer, options.ddpprof):
        if not os.access(program, os.X_OK):
            parser.error(f"{program}: there is no such program")
    if any(item.startswith(("twin-", "dp-")) for item in options.items) and subprocess.run(
            [options.python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        parser.error(f"--python {options.python}: has no torch, which the twin needs; name a "
                     "Python that has, or leave its --items out")
    options.folder = options.out.parent
    options.logs = options.folder / "logs"
    options.logs.mkdir(parents=True, exist_ok=True)
    options.say = functools.partial(print, "  ", flush=True)


def run_unit(unit, options, ledger, end):
    """False when it failed."""
    settings = settings_of(options, unit.kind)
    if ledger.find(unit.name, settings):
        print(f"{unit.name}: done before", flush=True)
        return True
    if unit.why_not:
        print(f"{unit.name}: left out: {unit.why_not}", flush=True)
        return True
    left = end - time.monotonic()
    if left < LEAST_SECONDS:
        print(f"{unit.name}: not begun: the {options.minutes:g} minutes are over", flush=True)
        return True
    print(f"{unit.name}: …", flush=True)
    begin = time.monotonic()
    try:
        result = unit.run(min(unit.timeout_s, left))
    except Exception as error:  # the next unit may work
        what = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        print(f"{unit.name}: FAILED after {time.monotonic() - begin:.0f} s: {what}", flush=True)
        ledger.add(FAILED, unit.name, settings, {"why": what})
        return False
    result["took_s"] = round(time.monotonic() - begin, 1)
    record = ledger.add(unit.kind, unit.name, settings, result)
    print(f"{unit.name}: {result['took_s']:.0f} s", flush=True)
    if unit.has_file:
        path = options.folder / f"{unit.name.replace(' ', '-')}.json"
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for line in tables.lines(unit.kind, [record]):
        print(f"  {line}", flush=True)
    return True


def main():
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    end = time.monotonic() + options.minutes * 60
    ledger = Ledger(options.out)
    failed = [unit.name for unit in units_of(options)
              if not run_unit(unit, options, ledger, end)]
    for line in tables.all_lines(ledger.records):
        print(line)
    if failed:
        print(f"\nFAILED: {', '.join(failed)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
