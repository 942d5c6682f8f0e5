#!/usr/bin/env python3
"""Trains a workload of ddpprof in plain PyTorch, and times its steps: the twin of ddpprof-train.

Examples:
  twin.py --gpus 2                          bert-base under single, dp and ddp, one after the other
  twin.py --modes ddp --gpus 2 --serve      takes orders on standard input:
      run K      2 steps that do not count, K that do; answers with a line of JSON
      quit
  torchrun --nproc-per-node 2 twin.py --modes ddp
  twin.py --device cpu --modes single,ddp --layers 2 --width 128 --seq 16 --batch 8

A step ends with a CUDA event on the main stream of the (first) device; nothing waits for the device
between measured steps. Under ddp the step times are rank 0's; `rank_mean_ms` has each rank's mean.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import torch

from ranks import Alone, Ranks, die_with_parent
from training import Trainer, run_steps
from workloads import DEFAULTS

MODES = ("single", "dp", "ddp")
DISCARDED_STEPS = 2  # after a pause, as `ddpprof compare` discards them


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--workload", choices=list(DEFAULTS), default="bert-base")
    add("--modes", default="single,dp,ddp", help="of single, dp and ddp")
    add("--device", choices=["cpu", "cuda"])
    add("--gpus", type=int, default=2, help="devices of dp, ranks of ddp")
    add("--batch", type=int, help="samples an optimizer step, over all devices")
    for name in ("seq", "layers", "width", "vocab"):
        add(f"--{name}", type=int)
    add("--dropout", type=float)
    add("--precision", choices=["fp32", "bf16"], help="bf16 is autocast around forward")
    add("--lr", type=float)
    add("--weight-decay", type=float)
    add("--seed", type=int, default=0)
    add("--steps", type=int, default=20)
    add("--warmup", type=int, default=5)
    add("--threads", type=int, help="intra-op threads a device (cores / devices)")
    add("--no-cudnn-attention", action="store_true")
    add("--dp-autocast", choices=["pytorch", "caller"], default="pytorch",
        help="replicas autocast as DataParallel's threads do (to fp16 on a GPU), or as the caller")
    add("--bucket-cap-mb", type=float)
    add("--gradient-as-bucket-view", action="store_true")
    add("--find-unused-parameters", action="store_true")
    add("--static-graph", action="store_true")
    add("--serve", action="store_true", help="take orders on standard input")
    add("--json", action="store_true", help="print lines of JSON")
    options = parser.parse_args(arguments)
    options.modes = options.modes.split(",")
    for mode in options.modes:
        if mode not in MODES:
            parser.error(f"--modes {mode}: known are {', '.join(MODES)}")
    if options.serve and len(options.modes) > 1:
        parser.error("--serve takes one of --modes")
    fill_in(options)
    if options.device == "cpu" and options.modes == ["dp"]:
        parser.error("--modes dp: torch.nn.DataParallel needs GPUs")
    return options


def fill_in(options):
    defaults = DEFAULTS[options.workload]
    options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if options.precision is None and options.device == "cpu":
        options.precision = "fp32"  # as ddpprof-train does
    for name, value in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, value)


def quantile(values, q):
    """Between order statistics, as profiler/README.md has it."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def run_round(trainer, ranks, discarded, steps):
    """One answer for all ranks; None on ranks other than 0."""
    times_ms, host_ms = run_steps(trainer, discarded, steps)
    answers = ranks.gather({"mean_ms": statistics.fmean(times_ms),
                            "peak_memory_bytes": trainer.peak_memory_bytes()})
    if answers is None:
        return None
    means = [answer["mean_ms"] for answer in answers]
    return {"steps_ms": times_ms, "host_ms": host_ms, "rank_mean_ms": means,
            "slowest_rank_mean_ms": max(means),
            "peak_memory_bytes": [peak for a in answers for peak in a["peak_memory_bytes"]]}


def describe(options, mode, ranks):
    device = (torch.cuda.get_device_name(0) if options.device == "cuda" else "cpu")
    devices = {"single": 1, "dp": options.gpus, "ddp": ranks.world}[mode]
    return {"mode": mode, "workload": options.workload, "batch": options.batch,
            "seq": options.seq, "layers": options.layers, "width": options.width,
            "precision": options.precision, "dropout": options.dropout, "devices": devices,
            "device": device, "cudnn_attention": not options.no_cudnn_attention,
            "torch": torch.__version__}


def serve(trainer, ranks, opening, out):
    if ranks.rank == 0:
        print(json.dumps({"ready": True, **opening}), file=out, flush=True)
    orders = iter(sys.stdin.readline, "") if ranks.rank == 0 else None
    while True:
        order = ranks.tell(next_order(orders) if orders else None)
        if order == "quit":
            return
        answer = run_round(trainer, ranks, DISCARDED_STEPS, order)
        if answer is not None:
            print(json.dumps(answer), file=out, flush=True)


def next_order(lines):
    """A count of steps, or "quit"; the end of the input quits, too."""
    for line in lines:
        words = line.split()
        if words == ["quit"]:
            break
        if len(words) == 2 and words[0] == "run" and words[1].isdigit() and int(words[1]) > 0:
            return int(words[1])
        print(f"twin.py: {line.strip()!r}: orders are `run K` and `quit`", file=sys.stderr)
    return "quit"


def print_result(result, as_json, out):
    if as_json:
        print(json.dumps(result), file=out, flush=True)
        return
    print(f"{result['workload']}, {result['mode']}, {result['devices']} x {result['device']}, "
          f"{result['precision']}, batch {result['batch']}: {result['median_ms']:.2f} ms a step "
          f"({result['p10_ms']:.2f} to {result['p90_ms']:.2f}; host "
          f"{result['host_median_ms']:.2f})", file=out, flush=True)


def run_mode(options, mode, out):
    backend = "nccl" if options.device == "cuda" else "gloo"
    ranks = Ranks(options.gpus, backend) if mode == "ddp" else Alone()
    devices = {"single": 1, "dp": options.gpus, "ddp": ranks.world}[mode]
    cores = len(os.sched_getaffinity(0))
    torch.set_num_threads(options.threads or max(1, cores // devices))
    if options.no_cudnn_attention:
        torch.backends.cuda.enable_cudnn_sdp(False)
    device = (torch.device("cuda", ranks.local_rank) if options.device == "cuda"
              else torch.device("cpu"))
    trainer = Trainer(options, mode, device, ranks.rank, ranks.world)
    for _ in range(options.warmup):
        trainer.step()
    opening = describe(options, mode, ranks)
    if options.serve:
        if trainer.last_loss is not None:
            trainer.last_loss.item()  # waits for the warm-up
        serve(trainer, ranks, opening, out)
    else:
        ranks.tell(None)
        answer = run_round(trainer, ranks, 0, options.steps)
        if answer is not None:
            times = answer.pop("steps_ms")
            host = answer.pop("host_ms")
            print_result({**opening, "steps": options.steps,
                          "median_ms": statistics.median(times), "p10_ms": quantile(times, 0.1),
                          "p90_ms": quantile(times, 0.9),
                          "host_median_ms": statistics.median(host), **answer,
                          "last_loss": trainer.last_loss.item()}, options.json, out)
    ranks.leave()


def run_each_mode(arguments, modes, device):
    """A process a mode: what one leaves in memory and caches is not the next one's."""
    code = 0
    for mode in modes:
        if mode == "dp" and device == "cpu":
            print("twin.py: dp is left out: torch.nn.DataParallel needs GPUs", file=sys.stderr)
            continue
        command = [sys.executable, os.path.abspath(__file__), *arguments, "--modes", mode]
        code = max(code, abs(subprocess.run(command, check=False).returncode))
    return code


def main():
    die_with_parent()
    options = parse(sys.argv[1:])
    if len(options.modes) > 1:
        sys.exit(run_each_mode(sys.argv[1:], options.modes, options.device))
    # What libraries print goes to standard error: standard output holds the answers alone.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        run_mode(options, options.modes[0], out)
    except ValueError as error:
        sys.exit(f"twin.py: {error}")


if __name__ == "__main__":
    main()
