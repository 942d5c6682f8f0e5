"""Programs that the suite starts: a trainer of ddpprof, its twin in Python, and plain commands.

Each has a process group of its own, a log, and an end: whatever happens, none outlives its user.
The environment is inherited as it is, but for what a launcher would have set.
"""
import json
import os
import select
import signal
import socket
import subprocess
import time

LAUNCHER_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                      "MASTER_PORT", "GROUP_RANK", "TORCHELASTIC_USE_AGENT_STORE")
DISCARDED_STEPS = 2  # after a change of turns; twin.py discards as many by itself
GRACE_S = 5
TAIL_LINES = 15


class Failed(Exception):
    """What happened, and the end of the log that says why."""

    def __init__(self, what, log=None):
        self.tail = tail(log) if log else []
        super().__init__("\n    ".join([what, *self.tail]))


def tail(path, count=TAIL_LINES):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.rstrip() for line in file.readlines()[-count:]]
    except OSError:
        return []


def environment(more=None):
    plain = {name: value for name, value in os.environ.items() if name not in LAUNCHER_VARIABLES}
    return {**plain, **(more or {})}


def place_of_rank(rank, ranks, port):
    """What a launcher tells a rank of a job on this host."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks,
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return {name: str(value) for name, value in place.items()}


def end_group(process):
    """SIGTERM to the process's own group, and SIGKILL to what is left of it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_command(command, log, timeout_s, more_environment=None, cwd=None, stdout=None):
    """Standard error goes to the file `log`, standard output to `stdout` (else to the log, too)."""
    begin = time.monotonic()
    with open(log, "wb") as errors, open(stdout or os.devnull, "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=errors, cwd=cwd,
                                   stdout=output if stdout else errors,
                                   env=environment(more_environment), start_new_session=True)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"{command[0]}: not done after {timeout_s:.0f} s", log) from None
        finally:
            end_group(process)
    if code != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit code {code}", log)
    return time.monotonic() - begin


class Process:
    """A process that speaks in lines of JSON."""

    def __init__(self, name, command, log, descriptors, more_environment=None):
        """`descriptors`: keyword arguments of Popen that connect it."""
        self.name, self.log = name, log
        self.unread, self.fd = b"", None
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(
                command, stderr=errors, env=environment(more_environment), start_new_session=True,
                **{"stdout": errors, **descriptors})

    def read(self, deadline):
        """The next line; `deadline` is of time.monotonic()."""
        while b"\n" not in self.unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise Failed(f"{self.name}: said nothing in time", self.log)
            got = os.read(self.fd, 1 << 16)
            if not got:
                raise Failed(f"{self.name}: ended ({self.exit_text()})", self.log)
            self.unread += got
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line)

    def exit_text(self):
        try:
            return f"exit code {self.process.wait(GRACE_S)}"
        except subprocess.TimeoutExpired:
            return "its output is closed"

    def end(self):
        end_group(self.process)


class Trainer(Process):
    """One rank of ddpprof-train, by the messages of profiler/formats/control.h."""

    def __init__(self, name, command, log, more_environment):
        self.socket, theirs = socket.socketpair()
        with theirs:
            super().__init__(name, [*command, "--control-fd", str(theirs.fileno())], log,
                             {"pass_fds": [theirs.fileno()], "stdin": subprocess.DEVNULL},
                             more_environment)
        self.fd = self.socket.fileno()

    def send(self, order):
        try:
            self.socket.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            raise Failed(f"{self.name}: ended ({self.exit_text()})", self.log) from None

    def expect(self, kind, deadline):
        while True:
            message = self.read(deadline)
            if message["type"] == kind:
                return message
            if message["type"] == "error":
                raise Failed(f"{self.name}: {message['subject']}: {message['problem']} "
                             f"({message['hint']})", self.log)
            if message["type"] != "progress":
                raise Failed(f"{self.name}: said {message['type']} instead of {kind}", self.log)

    def end(self):
        super().end()
        self.socket.close()


class Twin(Process):
    """bench/reference/twin.py --serve; it starts further ranks by itself."""

    def __init__(self, name, command, log):
        super().__init__(name, [*command, "--serve"], log,
                         {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE})
        self.fd = self.process.stdout.fileno()

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failed(f"{self.name}: ended ({self.exit_text()})", self.log) from None

    def end(self):
        super().end()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except OSError:
            pass
