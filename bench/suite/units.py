"""What the suite can run: items, and the units they are made of."""
import functools

from suite import beside_python, front_end, nsys_twin, overhead, why_ddp

ITEMS = ("twin-single", "twin-ddp", "twin-dp", "dp-threads", "links", "default-run", "nsys",
         "overhead", "nsys-twin", "why-ddp")
RECORDER_ITEMS = ("overhead", "nsys-twin", "why-ddp")  # whose units leave a file of JSON each


class Unit:
    def __init__(self, kind, name, run, timeout_s, why_not=None):
        """`run` takes the seconds it may take; `why_not` says why it cannot run here."""
        self.kind, self.name, self.run = kind, name, run
        self.timeout_s, self.why_not = timeout_s, why_not
        self.has_file = kind in RECORDER_ITEMS


def settings_of(options, kind):
    """What makes two units of one name different measurements."""
    names = ["device", "gpus"]
    if kind in ("twin", "dp-threads"):
        names += ["rounds", "steps"]
    if kind == "overhead":
        names += ["pairs"]
    if kind not in ("default-run", "nsys"):
        names += ["precision", "seq", "layers", "width", "vocab", "threads"]
    return {name: getattr(options, name) for name in names}


def needs_two(options):
    return None if options.gpus >= 2 else "needs 2 GPUs"


def needs_gpus(options):
    return None if options.device == "cuda" else "there is no other recorder on a CPU"


def needs_nsys(options):
    return None if options.nsys else "there is no nsys (--nsys PATH)"


def twin_units(options, item):
    mode = item.removeprefix("twin-")
    return [Unit("twin", f"{item} batch {batch}",
                 functools.partial(beside_python.run_twin, options, mode, batch), 300,
                 beside_python.why_not_twin(options, mode)) for batch in options.batches]


def dp_units(options, item):
    batch = options.batches[0]
    return [Unit(item, f"{item} batch {batch}",
                 functools.partial(beside_python.run_dp_threads, options, batch), 420)]


def link_units(options, item):
    why_not = needs_two(options) if options.device == "cuda" else "gloo knows no such links"
    return [Unit(item, f"{item} batch {batch} {link}",
                 functools.partial(front_end.run_link, options, batch, link), 300, why_not)
            for batch in options.batches for link in front_end.LINKS]


def default_units(options, item):
    return [Unit(item, item, functools.partial(front_end.run_default, options), 420)]


def nsys_units(options, item):
    return [Unit(item, item, functools.partial(front_end.run_nsys, options), 420,
                 needs_nsys(options))]


def overhead_units(options, item):
    units = []
    for regime, (_, groups) in overhead.REGIMES.items():
        batch = options.batches[0 if regime == "launch-bound" else -1]
        for group in groups:
            if options.gpus < 2 and len(group) > 1:
                group = ("single",)
            name = f"{item} batch {batch} {regime}"
            units.append(Unit(item, name if regime == "launch-bound" else f"{name} {group[0]}",
                              functools.partial(overhead.run, options, regime, group, batch), 240,
                              needs_gpus(options) or (group != ("single",) and needs_two(options))))
    return units


def nsys_twin_units(options, item):
    batch = options.batches[0]
    return [Unit(item, f"{item} batch {batch} {strategy}",
                 functools.partial(nsys_twin.run, options, strategy, batch), 240,
                 needs_gpus(options) or needs_nsys(options) or
                 (strategy == "ddp" and needs_two(options)))
            for strategy in ("single", "ddp")]


def why_ddp_units(options, item):
    batch, why_not = options.batches[0], needs_gpus(options) or needs_two(options)
    units = [Unit(item, f"{item} batch {batch} turns",
                  functools.partial(why_ddp.run_turns, options, batch), 180, why_not)]
    units += [Unit(item, f"{item} batch {batch} compare {link} {start}",
                   functools.partial(why_ddp.run_compare, options, batch, link, start), 100,
                   why_not)
              for link, start in why_ddp.COMPARES]
    return units


MAKERS = {"dp-threads": dp_units, "links": link_units, "default-run": default_units,
          "nsys": nsys_units, "overhead": overhead_units, "nsys-twin": nsys_twin_units,
          "why-ddp": why_ddp_units}


def units_of(options):
    found = []
    for item in options.items:
        found += MAKERS.get(item, twin_units)(options, item)
    return found
