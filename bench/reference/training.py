"""One optimizer step in Python under single, dp or ddp, and the clock that times steps."""
import contextlib
import time

import torch
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from samples import Sampler
from workloads import make_workload

# Drawn before training: Python's integers are slow, and drawing is not what is compared.
POOLED_BATCHES = 8


def autocast(device: torch.device, precision: str):
    if precision == "fp32":
        return contextlib.nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


class CallersAutocast(nn.Module):
    """Autocasts to the caller's type inside dp's replicas, which DataParallel does not."""

    def __init__(self, module: nn.Module, device: torch.device, precision: str):
        super().__init__()
        self.module, self.device, self.precision = module, device, precision

    def forward(self, *inputs):
        with autocast(self.device, self.precision):
            return self.module(*inputs)


class Trainer:
    """The training loop of trainers/common/training_loop.cpp.

    `rank` and `world` are those of ddp; single and dp are rank 0 of 1.
    """

    def __init__(self, options, mode: str, device: torch.device, rank: int = 0, world: int = 1):
        self.options, self.mode, self.device = options, mode, device
        self.workload = make_workload(options)
        torch.manual_seed(options.seed)
        self.module = self.workload.make_model().to(device)  # the parameters' owner
        self.module.train()
        # Dropout masks differ between ranks.
        torch.manual_seed(options.seed + 1 + rank)
        self.model = self.parallel(self.module)
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=options.lr,
                                           betas=(0.9, 0.999), eps=1e-8,
                                           weight_decay=options.weight_decay, fused=True)
        # Dropping gradients that are views would cost the copy into the buckets they save.
        self.drops_gradients = not (mode == "ddp" and options.gradient_as_bucket_view)
        sampler = Sampler(self.workload.samples_count, options.batch, options.seed)
        self.pool = [self.draw(sampler.micro_batch(step, rank, 1, world))
                     for step in range(POOLED_BATCHES)]
        self.steps_count = 0
        self.last_loss = None

    def parallel(self, module: nn.Module) -> nn.Module:
        options = self.options
        if self.mode == "dp":
            if options.dp_autocast == "caller":
                module = CallersAutocast(module, self.device, options.precision)
            return DataParallel(module, device_ids=list(range(options.gpus)))
        if self.mode == "ddp":
            return DistributedDataParallel(
                module, device_ids=[self.device.index] if self.device.type == "cuda" else None,
                bucket_cap_mb=options.bucket_cap_mb,
                find_unused_parameters=options.find_unused_parameters,
                gradient_as_bucket_view=options.gradient_as_bucket_view,
                static_graph=options.static_graph)
        return module

    def draw(self, numbers):
        inputs, target = self.workload.fetch(numbers)
        if self.device.type == "cuda":
            return [tensor.pin_memory() for tensor in inputs], target.pin_memory()
        return inputs, target

    def forward_backward(self, batch):
        inputs, target = batch
        inputs = [tensor.to(self.device, non_blocking=True) for tensor in inputs]
        target = target.to(self.device, non_blocking=True)
        with autocast(self.device, self.options.precision):
            output = self.model(*inputs)
        loss = self.workload.loss(output, target)
        loss.backward()
        return loss.detach()

    def step(self):
        self.last_loss = self.forward_backward(self.pool[self.steps_count % POOLED_BATCHES])
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=self.drops_gradients)
        self.steps_count += 1

    def peak_memory_bytes(self):
        """What the allocator took, a device; null on a CPU."""
        if self.device.type == "cpu":
            return [None]
        count = self.options.gpus if self.mode == "dp" else 1
        first = self.device.index
        return [torch.cuda.max_memory_reserved(i) for i in range(first, first + count)]


class StepClock:
    """When each step ended: CUDA events on the device's current stream, else the host's clock."""

    def __init__(self, device: torch.device, marks_count: int):
        self.events = ([torch.cuda.Event(enable_timing=True) for _ in range(marks_count)]
                       if device.type == "cuda" else [])
        self.host_ns = []

    def mark(self):
        if self.events:
            self.events[len(self.host_ns)].record()
        self.host_ns.append(time.monotonic_ns())

    def take_ms(self):
        """(steps by the device, steps by the host), ms."""
        host = [(b - a) / 1e6 for a, b in zip(self.host_ns, self.host_ns[1:])]
        if not self.events:
            return host, host
        self.events[-1].synchronize()
        return [a.elapsed_time(b) for a, b in zip(self.events, self.events[1:])], host


def run_steps(trainer: Trainer, discarded: int, steps: int):
    """Nothing waits for the device between the first step and the last."""
    clock = StepClock(trainer.device, steps + 1)
    for _ in range(discarded):
        trainer.step()
    clock.mark()
    for _ in range(steps):
        trainer.step()
        clock.mark()
    return clock.take_ms()
