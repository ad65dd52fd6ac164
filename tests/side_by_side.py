#!/usr/bin/env python3
"""Builds every test of the workspace once, and runs the test programs side by side.

`cargo test` runs one program after another, and most of them wait: for servers, networks and disks.
Here a few run at once, those that take longest first, each where `cargo test` runs it. What a
program prints appears as a whole when it has ended. `scripts/test` calls this, and
`scripts/nightly` does.

  tests/side_by_side.py            everything
  tests/side_by_side.py --tests    all but the examples in the documentation

SMS_TEST_LANES says how many programs run at once. If nothing does, it is one more than the machine
has cores. SMS_TEST_RUNNER is a command that runs each program.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

CARGO = ["cargo", "test", "--workspace", "--all-features"]
# The programs that take longest, longest first. The others take seconds.
LONGEST = [
    "sms-store-postgres/conformance", "sms-server/http", "sms-tests/suite", "sms-copy/copy",
    "sms-store-postgres/replicas", "sms-core/sms_core", "sms-store-sqlite/conformance",
    "sms-core/planning", "sms-store-sqlite/files", "sms-store-sqlite/faults", "sms-smpp/peer",
]
# What measures a server under attack runs when nothing else does: programs, and the tests of each by
# a part of their name, or all of them.
ALONE = {"sms-test-hostile/attacks": None, "sms-server/http": "memory_bound"}
COUNTS = ["passed", "failed", "ignored"]
# A program that runs for so many minutes hangs, on a slow machine too.
MOST_MINUTES = 30
# So many lines of what a failed test said are repeated at the end, where they are looked for.
MOST_LINES = 40
# What has to end if this is interrupted.
running = set()
PARSER = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("--tests", action="store_true", help="leave out the examples in the documentation")
ARGUMENTS = PARSER.parse_args()


def programs():
    """Builds the tests: the name of each program, the program, and the folder of its package."""
    build = [*CARGO, "--no-run", "--message-format=json-render-diagnostics"]
    built = subprocess.run(build, stdout=subprocess.PIPE)
    if built.returncode:
        sys.exit(built.returncode)
    for message in map(json.loads, built.stdout.splitlines()):
        if message["reason"] == "compiler-artifact" and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            name = f"{package_name(message['package_id'])}/{message['target']['name']}"
            yield name, message["executable"], folder


def package_name(package_id):
    """The name in `path+file:///x/tests#sms-tests@0.1.0`, or in `path+file:///x/sms-server#0.1.0`."""
    url, fragment = package_id.split("#")
    return fragment.split("@")[0] if "@" in fragment else url.split("/")[-1]


def check_names(programs):
    """Ends if a list above names a program or a test that is not there, as after a renaming."""
    unknown = {*LONGEST, *ALONE} - {name for name, _, _ in programs}
    if unknown:
        sys.exit(f"{sys.argv[0]}: there is no test program {', '.join(sorted(unknown))}")
    for name, program, folder in programs:
        if part := ALONE.get(name):
            listed = [program, "--list", part]
            tests = subprocess.run(listed, cwd=folder, stdout=subprocess.PIPE, check=True, text=True)
            if ": test\n" not in tests.stdout:
                sys.exit(f"{sys.argv[0]}: {name} has no test {part}")


def run(name, command, folder):
    began = time.monotonic()
    environment = dict(os.environ)
    # With these, Cargo would build again whatever asks for them at a build.
    if command[0] != "cargo":
        environment["CARGO_MANIFEST_DIR"] = str(folder)
        environment["CARGO_PKG_NAME"] = name.split("/")[0]
        command = [*shlex.split(os.environ.get("SMS_TEST_RUNNER", "")), *command]
    # No pipe: a server that a test left behind would keep it open.
    with tempfile.TemporaryFile() as output:
        program = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )
        running.add(program)
        hangs = False
        try:
            program.wait(60 * MOST_MINUTES)
        except subprocess.TimeoutExpired:
            hangs = True
            stop(program)
        running.discard(program)
        output.seek(0)
        said = output.read().decode(errors="replace")
    status = f"it ran for {MOST_MINUTES} minutes and was stopped" if hangs else program.returncode
    return name, status, said, time.monotonic() - began


def stop(program):
    """Ends a program, and the servers that it started."""
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    program.wait()


def words_of(test, said):
    """What a failed test said: its beginning, which has the reason, and its end."""
    section = rf"^---- {re.escape(test)}(?: stdout)? ----\n(.*?)(?=^---- .* ----$|^failures:$|\Z)"
    found = re.search(section, said, re.MULTILINE | re.DOTALL)
    # The frames of a backtrace say less than the rig's report does.
    lines = re.split(r"^stack backtrace:$", found[1], flags=re.MULTILINE)[0] if found else ""
    lines = lines.strip().splitlines()
    half = MOST_LINES // 2
    return lines if len(lines) <= MOST_LINES else [*lines[:half], "...", *lines[-half:]]


def indented(lines):
    return "".join(f"\n        {line}" for line in lines)


class Summary:
    def __init__(self):
        self.began = time.monotonic()
        self.counts = dict.fromkeys(COUNTS, 0)
        self.failed = []

    def add(self, name, status, said, took):
        print(f"\n== {name}, {took:.0f} s", said, sep="\n", flush=True)
        results = "".join(re.findall(r"^test result: .*\n", said, re.MULTILINE))
        for count in COUNTS:
            self.counts[count] += sum(map(int, re.findall(rf"(\d+) {count}", results)))
        if status:
            failed = re.findall(r"^test (.*?)(?: - should panic)? +\.\.\. FAILED", said, re.MULTILINE)
            if isinstance(status, str):
                failed.append(status)
            # What a program says last explains an end without the name of a test.
            unnamed = [f"exit status {status}; it said last:{indented(said.splitlines()[-5:])}"]
            explained = [f"{test}{indented(words_of(test, said))}" for test in failed]
            self.failed += [f"{name}: {test}" for test in explained or unnamed]

    def close(self):
        if self.failed:
            print("\nfailures:", *self.failed, sep="\n    ")
        verdict = "FAILED" if self.failed else "ok"
        # A program that fails as a whole counts as well.
        self.counts["failed"] = max(self.counts["failed"], len(self.failed))
        counts = "; ".join(f"{self.counts[count]} {count}" for count in COUNTS)
        print(f"\ntest result: {verdict}. {counts}; finished in {time.monotonic() - self.began:.2f}s")
        return 101 if self.failed else 0


def main():
    # An end from outside stops what was started, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    together, alone = [], []
    built = list(programs())
    check_names(built)
    for name, program, folder in built:
        command = [program]
        if name in ALONE:
            part = ALONE[name]
            alone.append((name, [program, part] if part else [program], folder))
            command = [program, "--skip", part] if part else None
        if command:
            together.append((name, command, folder))
    if not ARGUMENTS.tests:
        # Doc tests are built as they run, by all cores.
        examples = [*CARGO, "--no-fail-fast", "--doc"]
        alone.append(("examples in the documentation", examples, Path.cwd()))
    places = {name: place for place, name in enumerate(LONGEST)}
    together.sort(key=lambda job: places.get(job[0], len(places)))

    summary = Summary()
    lanes = int(os.environ.get("SMS_TEST_LANES") or (os.cpu_count() or 1) + 1)
    pool = ThreadPoolExecutor(lanes)
    try:
        for done in as_completed([pool.submit(run, *job) for job in together]):
            summary.add(*done.result())
        for job in alone:
            summary.add(*run(*job))
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        for program in list(running):
            stop(program)
        sys.exit(130)
    sys.exit(summary.close())


main()
