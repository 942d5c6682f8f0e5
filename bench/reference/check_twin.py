#!/usr/bin/env python3
"""Proves that the twin trains what ddpprof-train trains: the same samples, model, loss and update.

ddpprof-train runs a few steps without dropout and writes its gradients and parameters; the twin
repeats them on the CPU. Prints a line a check; exit code 1 when one fails.

Example: check_twin.py --trainer build/trainers/bin/ddpprof-train
"""
import argparse
import array
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

import twin
from samples import Sampler
from training import Trainer

STEPS = 3
SEED = 3
RANKS = 2  # whose slices of a batch must make up the whole gradient
SIZES = {
    "bert-base": ["--layers", "2", "--width", "128", "--seq", "16", "--vocab", "1000",
                  "--batch", "8"],
    "digits-mlp": ["--layers", "2", "--width", "32", "--batch", "16"],
}
# Norm of the difference over the norm; operators are the same, so that bf16 rounds at the same
# places. Update: parameters are some 1,000 times as large as a step and rounded to 6e-8 of
# themselves.
MOST = {"fp32": 1e-5, "bf16": 1e-5, "update": 1e-3}
# Smaller products are rounded to bf16 before they are added.
MOST_OF_SLICES = {"fp32": 1e-5, "bf16": 1e-2}


def read_doubles(path: pathlib.Path) -> torch.Tensor:
    """A file of --gradients; shape: (all parameters)."""
    values = array.array("d")
    values.frombytes(path.read_bytes())
    if sys.byteorder == "big":
        values.byteswap()
    return torch.tensor(values, dtype=torch.float64)


def flat(tensors) -> torch.Tensor:
    return torch.cat([tensor.detach().double().reshape(-1) for tensor in tensors])


def load(parameters, values: torch.Tensor):
    """`values` into parameters, or into their gradients, one after the other."""
    begin = 0
    for tensor in parameters:
        part = values[begin:begin + tensor.numel()]
        tensor.copy_(part.reshape(tensor.shape))
        begin += tensor.numel()
    if begin != values.numel():
        raise ValueError(f"the twin has {begin} parameters, ddpprof-train has {values.numel()}")


class Checker:
    def __init__(self):
        self.failed = 0

    def close(self, what: str, twins: torch.Tensor, trainers: torch.Tensor, most: float):
        """Lengths that differ are a failure, too."""
        if twins.numel() != trainers.numel():
            self.say(what, False, f"{twins.numel()} numbers against {trainers.numel()}")
            return
        distance = ((twins - trainers).norm() / trainers.norm()).item()
        self.say(what, distance <= most, f"{distance:.1e} apart, at most {most:.0e}")

    def say(self, what: str, is_fine: bool, why: str):
        self.failed += not is_fine
        print(f"{'ok' if is_fine else 'FAILED':6} {what}: {why}", flush=True)


def run_trainer(program: str, workload: str, precision: str, folder: pathlib.Path):
    command = [program, "--strategy", "single", "--workload", workload, *SIZES[workload],
               "--precision", precision, "--dropout", "0", "--seed", str(SEED), "--steps",
               str(STEPS), "--threads", "1", "--gradients", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"check_twin.py: {' '.join(command)}\n{done.stderr}")


def make_twin(workload: str, precision: str) -> Trainer:
    options = twin.parse(["--workload", workload, *SIZES[workload], "--precision", precision,
                          "--dropout", "0", "--seed", str(SEED), "--device", "cpu",
                          "--modes", "single"])
    return Trainer(options, "single", torch.device("cpu"))


def gradient(trainer: Trainer, batch) -> torch.Tensor:
    trainer.optimizer.zero_grad(set_to_none=True)
    trainer.forward_backward(batch)
    return flat(parameter.grad for parameter in trainer.module.parameters())


def slice_gradient(trainer: Trainer, step: int) -> torch.Tensor:
    """The mean over ranks of what each computes of its own slice."""
    sampler = Sampler(trainer.workload.samples_count, trainer.options.batch, SEED)
    parts = [gradient(trainer, trainer.draw(sampler.micro_batch(step, rank, 1, RANKS)))
             for rank in range(RANKS)]
    return sum(parts) / RANKS


def check_updates(checker, name, trainer, gradients, parameters):
    """AdamW on ddpprof-train's own gradients: how far each step went."""
    before = flat(trainer.module.parameters())
    for step in range(STEPS):
        with torch.no_grad():
            for parameter in trainer.module.parameters():
                parameter.grad = torch.empty_like(parameter)
            load([parameter.grad for parameter in trainer.module.parameters()], gradients[step])
        trainer.optimizer.step()
        after = flat(trainer.module.parameters())
        checker.close(f"{name}, update of step {step}", after - before, parameters[step] - before,
                      MOST["update"])
        with torch.no_grad():
            load(trainer.module.parameters(), parameters[step])
        before = flat(trainer.module.parameters())


def check(checker: Checker, program: str, workload: str, precision: str):
    name = f"{workload} {precision}"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        run_trainer(program, workload, precision, path)
        gradients = [read_doubles(path / f"grad_{step}_rank0.f64") for step in range(STEPS)]
        parameters = [read_doubles(path / f"param_{step}_rank0.f64") for step in range(STEPS)]
    trainer = make_twin(workload, precision)
    most = MOST[precision]
    checker.close(f"{name}, gradient of step 0 from the seed alone",
                  gradient(trainer, trainer.pool[0]), gradients[0], most)
    check_updates(checker, name, trainer, gradients, parameters)
    for step in range(1, STEPS):
        with torch.no_grad():
            load(trainer.module.parameters(), parameters[step - 1])
        checker.close(f"{name}, gradient of step {step} from its parameters",
                      gradient(trainer, trainer.pool[step]), gradients[step], most)
        checker.close(f"{name}, gradient of step {step} from the slices of {RANKS} ranks",
                      slice_gradient(trainer, step), gradients[step], MOST_OF_SLICES[precision])
    # A check that cannot fail proves nothing.
    wrong = gradient(trainer, trainer.pool[0])
    distance = ((wrong - gradients[-1]).norm() / gradients[-1].norm()).item()
    checker.say(f"{name}, another step's samples are told apart", distance > 10 * most,
                f"{distance:.1e} apart, more than {10 * most:.0e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", default="build/trainers/bin/ddpprof-train",
                        help="path of ddpprof-train, the one for CPUs")
    parser.add_argument("--workloads", default="bert-base,digits-mlp")
    options = parser.parse_args()
    if not os.access(options.trainer, os.X_OK):
        parser.error(f"--trainer {options.trainer}: there is no such program")
    torch.set_num_threads(1)
    checker = Checker()
    for workload in options.workloads.split(","):
        check(checker, options.trainer, workload, "fp32")
        if workload == "bert-base":
            check(checker, options.trainer, workload, "bf16")
    print(f"check_twin: {'all fine' if checker.failed == 0 else f'{checker.failed} FAILED'}")
    sys.exit(1 if checker.failed else 0)


if __name__ == "__main__":
    main()
