"""Commands that run side by side and end together, such as the ranks of a job."""
import socket
import subprocess
import time

from suite.processes import Failed, end_group, environment


def free_port():
    """That nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_job(members, timeout_s):
    """Commands side by side, [(command, log, variables)]: one that fails ends all."""
    begin = time.monotonic()
    started = []
    try:
        for command, log, variables in members:
            with open(log, "wb") as output:
                started.append(subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    env=environment(variables), start_new_session=True))
        waiting = list(zip(started, members))
        while waiting:
            for process, (command, log, _) in waiting:
                if process.poll():
                    raise Failed(f"{' '.join(map(str, command))}: exit code {process.poll()}", log)
                if time.monotonic() - begin > timeout_s:
                    raise Failed(f"{command[0]}: not done after {timeout_s:.0f} s", log)
            waiting = [one for one in waiting if one[0].returncode is None]
            time.sleep(0.02)
    finally:
        for process in started:
            end_group(process)
    return time.monotonic() - begin
