"""A small training as records, written as ddpprof writes them and as Nsight Systems does.

A step of 10 ms: a copy, four kernels of forward, then on autograd's thread six of backward, 100 us
apart, and under ddp one copy into a bucket and two all-reduces; a kernel of the optimizer.
"""
import gzip
import json
import sqlite3

STEP_NS = 10_000_000
MAIN, AUTOGRAD = 100, 101
PHASES = ["data", "forward", "backward", "optimizer", "bucket_copy"]
GEMM, REDUCE = "_Z4gemmPf", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
KERNELS_SINGLE, KERNELS_DDP = 11, 14  # a step
CALL_NS = 5_000


class Events:
    def __init__(self):
        self.steps, self.scopes, self.calls, self.work, self.reduces = [], [], [], [], []
        self.correlation = 0

    def launch(self, thread, at, kind, name, delay, duration):
        self.correlation += 1
        self.calls.append((at, at + CALL_NS, thread, self.correlation))
        self.work.append((at + delay, at + delay + duration, kind, name, self.correlation))


def training(steps, ranks=1, rank=0, lost=0, slower=1.0):
    """`steps`: [(index, visit)]; `lost`: so many kernels of forward are not there.

    Rank 0 is 300 us late at each all-reduce, so the others wait; `slower`: of GPU times.
    """
    events = Events()
    for place, (index, visit) in enumerate(steps):
        t = 1_000_000 + place * STEP_NS
        us = 1000
        events.steps.append((t, t + STEP_NS, index, visit))
        for phase, begin, end in (("data", 0, 500), ("forward", 500, 4000),
                                  ("backward", 4000, 8000), ("backward", 7000, 8000),
                                  ("optimizer", 8000, 9900)):
            events.scopes.append((t + begin * us, t + end * us, MAIN, phase))
        gpu = round(50 * us * slower)
        events.launch(MAIN, t + 100 * us, "copy", "Memcpy HtoD", 10 * us, gpu)
        for kernel in range(4 - lost):
            events.launch(MAIN, t + (600 + 100 * kernel) * us, "kernel", GEMM, 10 * us, gpu)
        for kernel in range(6):
            events.launch(AUTOGRAD, t + (4100 + 100 * kernel) * us, "kernel", GEMM, 10 * us, gpu)
        if ranks > 1:
            events.scopes.append((t + 4700 * us, t + 4750 * us, AUTOGRAD, "bucket_copy"))
            events.launch(AUTOGRAD, t + 4700 * us, "kernel", "copy_kernel", 10 * us, gpu)
            for bucket in range(2):
                start = 4800 + 1000 * bucket
                late = 0 if rank else 300
                events.launch(AUTOGRAD, t + start * us, "kernel", REDUCE, (10 + late) * us,
                              (700 - late) * us)
                begin, end = events.work[-1][:2]
                events.reduces.append((begin, end, 2 * place + bucket))
        events.launch(MAIN, t + 8500 * us, "kernel", GEMM, 10 * us, gpu)
    return events


def line(category, name, span, args):
    return json.dumps({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1,
                       "ts": span[0] / 1000, "dur": (span[1] - span[0]) / 1000, "args": args},
                      separators=(",", ": "))


def write_native(path, events, recorder="cupti", issues=()):
    """As profiler/formats/README.md has it, as far as the suite reads it."""
    threads = {MAIN: 0, AUTOGRAD: 1}
    lines = [line("user_annotation", f"ProfilerStep#{index}", (begin, end),
                  {"step": index, "visit": visit}) for begin, end, index, visit in events.steps]
    lines += [line("user_annotation", phase, (begin, end),
                   {"phase": phase, "computes": True, "thread": threads[thread]})
              for begin, end, thread, phase in events.scopes]
    if recorder == "cupti":
        lines += [line("cuda_runtime", "cudaLaunchKernel", (begin, end),
                       {"correlation": correlation, "synchronizes": False,
                        "thread": threads[thread]})
                  for begin, end, thread, correlation in events.calls]
        lines += [line({"kernel": "kernel", "copy": "gpu_memcpy"}[kind], name, (begin, end),
                       {"device": 0, "stream": 7, "correlation": correlation, "bytes": 0,
                        "activity": "copy" if kind == "copy" else
                        "communication" if name == REDUCE else "compute"})
                  for begin, end, kind, name, correlation in events.work]
    lines += [line("user_annotation", "nccl:all_reduce", (begin, end),
                   {"Process Group Name": "0", "Seq": sequence, "collective": "all_reduce",
                    "bytes": 4, "gradient": True, "device": 0})
              for begin, end, sequence in events.reduces]
    head = {"schema": 1, "recorder": {"events": "cuda-events"}.get(recorder, recorder),
            "dropped_records": 0, "issues": list(issues),
            "threads": [{"is_main": True}, {"is_main": False}]}
    text = ('{"schemaVersion": 1,\n"ddpprof": ' + json.dumps(head) + ',\n"traceEvents": [\n' +
            ",\n".join(lines) + "]}\n")
    path.write_bytes(gzip.compress(text.encode()))


TABLES = """
CREATE TABLE StringIds (id, value);
CREATE TABLE NVTX_EVENTS (start, end, eventType, category, text, globalTid, textId, domainId);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId, globalPid, demangledName,
                                         mangledName);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, correlationId, globalPid);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
"""


def write_sqlite(path, events, scopes_left_out=()):
    """As `nsys export --type sqlite` does: names are in StringIds; another process is there."""
    process = 1 << 56 | 4711 << 24
    names = ["step", *PHASES, GEMM, REDUCE, "copy_kernel"]
    database = sqlite3.connect(path)
    database.executescript(TABLES)
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
    rows = [(0, None, 75, None, "NCCL", process | 1, None, 1),
            (0, None, 75, None, "ddpprof", process | 1, None, 2)]
    rows += [(0, None, 33, k + 1, phase, process | 1, None, 2) for k, phase in enumerate(PHASES)]
    rows += [(begin, end, 59, None, None, process | MAIN, 0, 2)
             for begin, end, _, _ in events.steps]
    rows += [(begin, end, 59, PHASES.index(phase) + 1, None, process | thread,
              names.index(phase), 2)
             for begin, end, thread, phase in events.scopes if phase not in scopes_left_out]
    rows.append((0, 1 << 60, 59, None, "ncclAllReduce", process | MAIN, None, 1))
    database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    for begin, end, kind, name, correlation in events.work:
        if kind == "kernel":
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?)",
                             (begin, end, correlation, process, None, names.index(name)))
        else:
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?)",
                             (begin, end, correlation, process))
    for begin, end, thread, correlation in events.calls:
        # The driver's call inside the runtime's, and one of that number in another process, before.
        for shift, of in ((0, process), (1000, process), (-2_000_000, process + (1 << 24))):
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 0)",
                             (begin + shift, end - abs(shift), of | thread, correlation))
    database.commit()
    database.close()
