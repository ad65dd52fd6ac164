#!/usr/bin/env python3
"""Whether a check passed on these very inputs. A slow check keeps beside it, in a file `checked`, the
hash of all that it reads, and is left out as long as nothing of that changes.

  tests/inputs.py same CHECKED INPUT...    prints whether the inputs are those of the file: yes or no
  tests/inputs.py keep CHECKED INPUT...    writes the file: the check passed

An input is a file, or a folder with all its files but those that Git ignores. One that is not there
fails: it may have another name now.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

# A machine that runs checks may have the sources from another user.
LIST = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]


def files(given):
    for path in given:
        listed = subprocess.run([*LIST, "--", path], stdout=subprocess.PIPE, check=True, text=True)
        found = [Path(name) for name in listed.stdout.split("\0") if name and Path(name).is_file()]
        if not found:
            sys.exit(f"{sys.argv[0]}: there is no input {path}")
        yield from found


def main():
    task, checked, *given = sys.argv[1:]
    digest = hashlib.sha256()
    for file in sorted(set(files(given)) - {Path(checked)}):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.as_posix()} {content}\n".encode())
    now, checked = digest.hexdigest() + "\n", Path(checked)
    same = checked.is_file() and checked.read_text() == now
    if task == "keep" and not same:
        checked.write_text(now)
        print(f"{checked} has changed: commit it, and this check is left out until its inputs change")
    elif task == "same":
        print("yes" if same else "no")


main()
