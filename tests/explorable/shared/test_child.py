"""A child process answers, or it is killed and says why."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from explorable.shared.child import Child, ChildError, TimeLimitError
from tests.gpu_bench.processes import alive, within


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    with closing(Child("explorable.live.build.child", 60.0, tmp_path, [str(tmp_path / "empty")])) as running:
        yield running


def run(child: Child, source: str) -> Any:
    arguments = {"page": "page", "name": "test", "source": source}
    return child.request({"call": "run_snippet", "arguments": arguments})["ok"]


def test_it_answers_and_remembers(child: Child) -> None:
    run(child, "x = 20")
    assert run(child, "x + 1")["result"] == "21"


def test_an_endless_loop_is_killed_at_the_limit(tmp_path: Path) -> None:
    arguments = [str(tmp_path / "empty")]
    with (
        closing(Child("explorable.live.build.child", 0.5, tmp_path, arguments)) as child,
        pytest.raises(TimeLimitError, match=r"stopped after 0\.5 s"),
    ):
        run(child, "while True: pass")


def test_only_time_on_a_processor_counts_but_nothing_waits_for_ever(tmp_path: Path) -> None:
    with closing(Child("explorable.live.build.child", 1.0, tmp_path, [str(tmp_path / "empty")])) as child:
        assert run(child, "import time\ntime.sleep(1.5)\n7")["result"] == "7"
        with pytest.raises(TimeLimitError, match=r"stopped after 1 s"):
            run(child, "time.sleep(600)")


def test_the_start_of_the_process_does_not_count_as_time_of_its_first_request(tmp_path: Path) -> None:
    (tmp_path / "slow_start.py").write_text(
        "import time; time.sleep(4)\n"
        "from explorable.shared.serving import serve\n"
        "serve(lambda request: {'ok': request['number'] + 1})\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        with closing(Child("slow_start", 3.0)) as child:
            assert child.request({"number": 1}) == {"ok": 2}


def test_after_a_kill_it_starts_anew_without_memory(child: Child) -> None:
    run(child, "x = 1")
    with pytest.raises(ChildError):
        run(child, "import os; os._exit(3)")
    assert child.losses == 1
    assert "NameError" in run(child, "x")["error"]["text"]


def test_a_death_is_reported_in_one_line(child: Child) -> None:
    with pytest.raises(ChildError, match="status 3: out of luck") as raised:
        run(child, "import os, sys; os.write(2, b'first\\nout of luck'); os._exit(3)")
    assert "\n" not in str(raised.value)


def test_output_of_grandchildren_does_not_break_the_conversation(child: Child) -> None:
    assert run(child, "import os; os.system('echo no answer'); 5")["result"] == "5"


@pytest.mark.skipif(os.name != "posix", reason="limits of a process are POSIX's")
@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_program_that_writes_without_end_fills_no_disk_and_no_memory(child: Child, descriptor: int) -> None:
    flood = f"import os\nwhile True:\n    os.write({descriptor}, b'x' * 2**20)"
    assert "File too large" in run(child, flood)["error"]["text"]
    with pytest.raises(ChildError, match="status 3: x") as raised:
        run(child, "import os; os._exit(3)")
    assert len(str(raised.value)) < 2 * 2**16


@pytest.mark.skipif(os.name != "posix", reason="timers of a process are POSIX's")
def test_a_program_ends_soon_after_a_build_that_was_killed(tmp_path: Path) -> None:
    """An endless snippet went on for ever behind a build that could not end it."""
    source = f"open({str(tmp_path / 'pid')!r}, 'w').write(f'{{__import__(\"os\").getpid()}}\\n')\nwhile True: pass"
    message = {"call": "run_snippet", "arguments": {"page": "page", "name": "test", "source": source}}
    build = (
        "from explorable.shared.child import Child\n"
        f"Child('explorable.live.build.child', 600.0, None, [{str(tmp_path / 'empty')!r}]).request({message!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", build]) as killed:
        assert within(120, lambda: (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text().endswith("\n"))
        killed.kill()
    pid = int((tmp_path / "pid").read_text())
    assert within(120, lambda: not alive(pid))


@pytest.mark.skipif(os.name != "posix", reason="groups of processes are POSIX's")
def test_what_a_program_has_started_ends_with_it(child: Child, tmp_path: Path) -> None:
    """A fork that lived on held the pipes, and a build waited for it."""
    pid = int(run(child, "import os, time\nchild = os.fork()\nif not child:\n    time.sleep(600)\nchild")["result"])
    os.kill(pid, 0)
    child.close()
    assert within(10, lambda: not alive(pid))


@pytest.mark.skipif(os.name != "posix", reason="groups of processes are POSIX's")
def test_an_end_waits_for_no_process_that_left_the_group(child: Child) -> None:
    """A build lasted as long as a fork with a session of its own."""
    source = "import os, time\nchild = os.fork()\nif not child:\n    os.setsid()\n    time.sleep(600)\nchild"
    pid = int(run(child, source)["result"])
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(child.close)
        try:
            assert within(60, ended.done)
        finally:
            os.kill(pid, signal.SIGKILL)


WRITES = """
import os
for descriptor in range(3, 20):
    try:
        os.write(descriptor, b"5\\n")
    except OSError:
        pass
"""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import json\njson.dumps = lambda *_, **__: 'no JSON'", "status 1: json.decoder.JSONDecodeError"),
        pytest.param(WRITES, "answered what nobody can read", id="writes an answer of its own"),
    ],
)
def test_code_that_breaks_the_conversation_is_told_in_a_line(child: Child, source: str, said: str) -> None:
    def broken() -> None:
        run(child, source)
        run(child, "7")

    with pytest.raises(ChildError, match=said) as raised:
        broken()
    assert "\n" not in str(raised.value)


def test_code_cannot_read_the_conversation(child: Child) -> None:
    assert run(child, "import os; os.read(0, 10)")["result"] == "b''"


def test_sets_have_one_order(tmp_path: Path) -> None:
    def order() -> Any:
        with closing(Child("explorable.live.build.child", 5.0, tmp_path, [str(tmp_path / "empty")])) as fresh:
            return run(fresh, "list({'a', 'b', 'c', 'd', 'e'})")["result"]

    assert order() == order()


def test_an_end_by_another_thread_is_told_to_the_one_that_waits(tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text(
        "import time\nfrom explorable.shared.serving import serve\nserve(lambda request: time.sleep(600))\n"
    )
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as thread:
        patch.setenv("PYTHONPATH", str(tmp_path))
        for wait_s in (0.0, 0.01, 0.3):
            child = Child("sleeper", 600.0)
            child.start()
            asked = thread.submit(child.request, {"number": 1})
            time.sleep(wait_s)
            # A request that began after an end has started the process anew.
            while not asked.done():
                child.close()
                time.sleep(0.02)
            assert isinstance(asked.exception(), ChildError)
            assert re.match(r"the Python process (was ended|ended with status)", str(asked.exception()))
