#!/usr/bin/env python3
"""Unpacks one wheel into a site-packages folder so that an interruption is never taken for whole.

usage: unpack_wheel.py WHEEL HASH SITE_PACKAGES STAMP TEMPORARY_FOLDER

The files are first written to the temporary folder, then renamed into place one by one; the stamp
(the wheel's hash, then one path a line) comes last. Without it the next run starts this wheel anew.
"""
import os
import shutil
import sys
import zipfile


# LibTorch is a quarter of the files of torch's wheel; the Python half stays out.
def is_wanted(path: str) -> bool:
    if path.endswith("/") or path.endswith("/lib/libtorch_python.so"):
        return False
    if not path.startswith(("torch/", "torchgen/", "functorch/")):
        return True
    return path.startswith(("torch/include/", "torch/lib/")) or path == "torch/version.py"


def remove_previous(site: str, stamp: str) -> None:
    if not os.path.exists(stamp):
        return
    with open(stamp, encoding="utf-8") as file:
        paths = file.read().splitlines()[1:]
    os.remove(stamp)
    for path in paths:
        try:
            os.remove(os.path.join(site, path))
        except FileNotFoundError:
            pass


def unpack(wheel: str, digest: str, site: str, stamp: str, temporary: str) -> None:
    shutil.rmtree(temporary, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if is_wanted(name)]
        archive.extractall(temporary, members)

    remove_previous(site, stamp)
    for name in members:
        target = os.path.join(site, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(os.path.join(temporary, name), target)
    shutil.rmtree(temporary)

    os.makedirs(os.path.dirname(stamp), exist_ok=True)
    with open(stamp + ".new", "w", encoding="utf-8") as file:
        file.write("\n".join([digest, *members, ""]))
    os.replace(stamp + ".new", stamp)


def main() -> int:
    if len(sys.argv) != 6:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        unpack(*sys.argv[1:])
    except (OSError, zipfile.BadZipFile) as error:
        print(f"{os.path.basename(sys.argv[1])}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
