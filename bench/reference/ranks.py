"""How the ranks of ddp start, meet, take orders and part.

Orders and times travel through a store of their own: who waits for an order sleeps on a socket, and
no kernel of NCCL spins on a GPU meanwhile. The process group's store is not used for that, because
its connection is locked while somebody waits on it, and NCCL's watchdog needs it.
"""
import ctypes
import datetime
import json
import os
import signal
import subprocess
import sys

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

ADDRESS = "127.0.0.1"
PATIENCE = datetime.timedelta(hours=2)  # of a rank for the next order
PR_SET_PDEATHSIG = 1


class Alone:
    """The one process of single and dp."""
    rank, world, local_rank = 0, 1, 0

    def tell(self, order):
        return order

    def gather(self, value):
        return [value]

    def leave(self):
        pass


class Ranks:
    """This process's place among the ranks. Rank 0 starts the others unless a launcher did."""

    def __init__(self, world: int, backend: str):
        self.children = []
        if "RANK" in os.environ:
            self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
            self.local_rank = int(os.environ.get("LOCAL_RANK", self.rank))
            store, _, _ = next(rendezvous("env://"))
        else:
            self.rank, self.local_rank, self.world = 0, 0, world
            store = dist.TCPStore(ADDRESS, 0, is_master=True, wait_for_workers=False)
            self.start_others(store.port)
        if backend == "nccl":
            torch.cuda.set_device(self.local_rank)
        dist.init_process_group(backend, store=store, rank=self.rank, world_size=self.world)
        self.control = self.open_control(store)
        self.orders_count = 0

    def start_others(self, port: int):
        for rank in range(1, self.world):
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": self.world,
                     "LOCAL_WORLD_SIZE": self.world, "MASTER_ADDR": ADDRESS, "MASTER_PORT": port,
                     "DDPPROF_TWIN_PARENT": os.getpid()}
            self.children.append(subprocess.Popen(
                [sys.executable, *sys.argv], stdin=subprocess.DEVNULL,
                env={**os.environ, **{key: str(value) for key, value in place.items()}}))

    def open_control(self, store):
        address = os.environ.get("MASTER_ADDR", ADDRESS)
        if self.rank == 0:
            control = dist.TCPStore(address, 0, is_master=True, wait_for_workers=False,
                                    timeout=PATIENCE)
            store.set("twin/control", str(control.port))
            return control
        return dist.TCPStore(address, int(store.get("twin/control")), is_master=False,
                             timeout=PATIENCE)

    def tell(self, order):
        """Rank 0 gives an order to all; the others pass None. Returns the order."""
        self.orders_count += 1
        key = f"order/{self.orders_count}"
        if self.rank == 0:
            self.control.set(key, json.dumps(order))
            return order
        return json.loads(self.control.get(key))

    def gather(self, value):
        """The values of all ranks, in their order, on rank 0; None elsewhere."""
        key = f"answer/{self.orders_count}/"
        if self.rank > 0:
            self.control.set(key + str(self.rank), json.dumps(value))
            return None
        return [value] + [json.loads(self.control.get(key + str(rank)))
                          for rank in range(1, self.world)]

    def leave(self):
        dist.destroy_process_group()
        if self.rank > 0:
            self.control.set(f"gone/{self.rank}", "")
            return
        for rank in range(1, self.world):  # its stores end with this process
            self.control.get(f"gone/{rank}")
        for child in self.children:
            child.wait()


def die_with_parent():
    """A rank started here ends with rank 0, however that ends."""
    parent = os.environ.get("DDPPROF_TWIN_PARENT")
    if parent is not None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            sys.exit("rank 0 is gone")
