"""What was measured so far: a file of JSON lines, one a finished unit."""
import json
import pathlib

FAILED = "failed"  # the kind of a record that says why a unit has no figures; it is run again


class Ledger:
    """A unit is known by its name and by the settings under which it ran."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.records = []
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    self.records.append(json.loads(line))
                except json.JSONDecodeError:
                    pass  # the last line of a run that was killed
            if self.records and not self.path.read_bytes().endswith(b"\n"):
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write("\n")

    def find(self, unit, settings):
        """The newest record of the unit that has figures, or None."""
        return next((record for record in reversed(self.records)
                     if record["kind"] != FAILED and record["unit"] == unit and
                     record["settings"] == settings), None)

    def add(self, kind, unit, settings, result):
        record = {"kind": kind, "unit": unit, "settings": settings, "result": result}
        self.records.append(record)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        return record
