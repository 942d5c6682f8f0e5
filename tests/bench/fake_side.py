"""Stands in for a trainer (with --control-fd) or a twin (with --serve): steps of a given length.

usage: fake_side.py STEP_MS DIARY [MOOD] --control-fd N | --serve
MOOD: dies (at the second turn), silent (from the first turn on)
"""
import json
import os
import sys

step_ms, diary = float(sys.argv[1]), sys.argv[2]
mood = sys.argv[3] if not sys.argv[3].startswith("--") else ""
turns = 0


def turn():
    global turns
    turns += 1
    with open(diary, "a", encoding="utf-8") as file:
        file.write(f"{step_ms:g}\n")
    if mood == "dies" and turns == 2:
        print("the reason why", file=sys.stderr)
        sys.exit(7)


def act_as_trainer(control):
    def send(message):
        os.write(control.fileno(), json.dumps(message).encode() + b"\n")

    rank = os.environ.get("RANK")
    if rank == "0":
        send({"type": "port", "port": 4711})
    elif rank is not None and os.environ["MASTER_PORT"] != "4711":
        sys.exit("was not told the port")
    send({"type": "progress", "stage": "warm-up", "step": 1, "steps_count": 2})
    send({"type": "ready", "torch_version": "2.11.0", "devices": []})
    for line in control:
        order = json.loads(line)
        if order["type"] == "finish":
            send({"type": "done", "steps_count": 0})
            return
        turn()
        if mood != "silent":
            step_ns = round(step_ms * 1e6) * (1 + int(rank or 0))
            send({"type": "ran", "step_ends_ns": [k * step_ns for k in range(order["steps"] + 1)]})


def act_as_twin():
    print(json.dumps({"ready": True, "torch": "2.11.0", "device": "none"}), flush=True)
    for line in sys.stdin:
        if line.split() == ["quit"]:
            return
        turn()
        count = int(line.split()[1])
        print(json.dumps({"steps_ms": [step_ms] * count, "rank_mean_ms": [step_ms],
                          "host_ms": [1.0] * count, "peak_memory_bytes": [5]}), flush=True)


if "--control-fd" in sys.argv:
    act_as_trainer(os.fdopen(int(sys.argv[sys.argv.index("--control-fd") + 1]), "r",
                             encoding="utf-8"))
else:
    act_as_twin()
