"""Items twin-single, twin-ddp, twin-dp and dp-threads: ddpprof's trainers beside PyTorch itself."""
import pathlib
import time

from suite.turns import TrainerSide, TwinSide, figures, ratio, take_turns

TWIN = pathlib.Path(__file__).resolve().parents[1] / "reference" / "twin.py"
WARMUP = 10  # steps; DDP builds its buckets anew in the second, cuDNN's plans come with the first

# Of DP, by name: what the trainer is told, and what the twin is told (None: it has no such switch).
# DataParallel's own threads autocast to fp16, whatever the caller's type: so does `pytorch`.
PYTORCH_AUTOCAST = ["--dp-autocast", "pytorch"]
NO_CUDNN = ["--no-cudnn-attention"]
DP_SIDES = {
    "C++ fresh": ["--dp-threads", "fresh"],
    "C++ pool": ["--dp-threads", "pool"],
    "C++ fresh, no cuDNN": ["--dp-threads", "fresh", *NO_CUDNN],
    "C++ pool, no cuDNN": ["--dp-threads", "pool", *NO_CUDNN],
    "C++ fresh, PyTorch's cast": ["--dp-threads", "fresh", *PYTORCH_AUTOCAST],
    "C++ fresh, PyTorch's cast, no cuDNN": ["--dp-threads", "fresh", *PYTORCH_AUTOCAST, *NO_CUDNN],
}
TWIN_DP_SIDES = {"Python": [], "Python, no cuDNN": NO_CUDNN}
# The side that another is divided by: the same attention.
DP_BASES = {name: "Python, no cuDNN" if "no cuDNN" in name else "Python"
            for name in [*DP_SIDES, *TWIN_DP_SIDES]}


def sizes(suite, batch):
    """Flags that both programs know."""
    flags = ["--workload", "bert-base", "--batch", str(batch), "--precision", suite.precision,
             "--seq", str(suite.seq), "--warmup", str(WARMUP)]
    for name in ("layers", "width", "vocab", "threads"):
        if getattr(suite, name) is not None:
            flags += [f"--{name}", str(getattr(suite, name))]
    return flags


def trainer_side(suite, name, strategy, batch, log_stem, more=()):
    command = [str(suite.trainer), "--strategy", strategy, *sizes(suite, batch), *more]
    return TrainerSide(name, command, suite.logs / f"{log_stem}-cpp",
                       suite.gpus if strategy == "ddp" else None)


def twin_side(suite, name, mode, batch, log_stem, more=()):
    command = [suite.python, str(TWIN), "--modes", mode, "--device", suite.device, "--gpus",
               str(suite.gpus), *sizes(suite, batch), *more]
    return TwinSide(name, command, suite.logs / f"{log_stem}-python")


def measure(suite, sides, rounds, timeout_s, bases):
    """`bases`: {side: the side it is divided by}."""
    visits, readiness = take_turns(sides, rounds, suite.steps, time.monotonic() + timeout_s,
                                   suite.say)
    found = {name: figures(of_side) for name, of_side in visits.items()}
    for name, of_side in found.items():
        of_side["torch"] = readiness[name]["torch"]
    ratios = {f"{name} / {base}": ratio(found[name], found[base])
              for name, base in bases.items()
              if name in found and base in found and name != base}
    return {"sides": found, "ratios": ratios, "devices": next(iter(readiness.values()))["devices"],
            "rounds": len(next(iter(visits.values())))}


def why_not_twin(suite, mode):
    if mode == "dp" and suite.device == "cpu":
        return "torch.nn.DataParallel needs GPUs"
    if mode == "dp" and suite.gpus < 2:
        return "DP on one GPU has no Python twin; dp-threads runs it on C++ alone"
    return None


def run_twin(suite, mode, batch, timeout_s):
    """A batch of twin-single, twin-ddp or twin-dp."""
    stem = f"twin-{mode}-{batch}"
    more = [*PYTORCH_AUTOCAST, "--workers", str(suite.gpus)] if mode == "dp" else []
    sides = [trainer_side(suite, "C++", mode, batch, stem, more),
             twin_side(suite, "Python", mode, batch, stem)]
    return measure(suite, sides, suite.rounds, timeout_s, {"C++": "Python"})


def run_dp_threads(suite, batch, timeout_s):
    """All variants of DP in turns. On one GPU it is both devices, and Python has no such DP."""
    devices = ["--workers", str(max(2, suite.gpus))]
    if suite.device == "cuda" and suite.gpus < 2:
        devices += ["--devices", "0,0"]
    sides = []
    for index, (name, flags) in enumerate(DP_SIDES.items()):
        if suite.device == "cpu" and {NO_CUDNN[0], PYTORCH_AUTOCAST[0]} & set(flags):
            continue  # the trainer for CPUs has no such flags
        sides.append(trainer_side(suite, name, "dp", batch, f"dp-{index}", [*flags, *devices]))
    if suite.device == "cuda" and suite.gpus >= 2:
        for index, (name, flags) in enumerate(TWIN_DP_SIDES.items()):
            sides.append(twin_side(suite, name, "dp", batch, f"dp-{index}", flags))
    return measure(suite, sides, suite.rounds, timeout_s, DP_BASES)
