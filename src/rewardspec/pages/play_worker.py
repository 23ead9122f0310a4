"""The process in which the playground's questions are answered, so that one that takes too long can be ended.

Questions and answers are lines of JSON on its standard input and output.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from rewardspec.errors import Error
from rewardspec.pages.playground import answer, automaton_svg, content_of_toml
from rewardspec.types import Json, JsonObject

MOST_SECONDS = 9.0
"""How long the processor may work on a question."""
_MOST_WAITING = 60.0
"""How long a question may take in all, on a machine that has other work too."""
_MOST_MEMORY = 1 << 30  # bytes that the process may grow by
_COMMAND = (sys.executable, "-m", "rewardspec.pages.play_worker")

QUESTIONS: dict[str, Callable[[Json], Json]] = {
    "/compile": answer,
    "/automaton": lambda request: {"svg": automaton_svg(request)},
    "/toml": lambda request: content_of_toml(request if isinstance(request, str) else ""),
}


class BusyError(Error):
    """Others' questions, or other programs, take all the time there is."""


class TooMuchWorkError(Error):
    """A question that took too long or too much memory, or is nested too deeply."""


class Worker:
    """A process that answers a question at a time; one that passes its limit of seconds is ended, and another started.

    Args:
        seconds: How long the processor may work on a question.
        waiting: How long a question may take in all, with the time it waits for others and for the processor.
        command: What to run.
    """

    def __init__(
        self, seconds: float = MOST_SECONDS, waiting: float = _MOST_WAITING, command: Sequence[str] = _COMMAND
    ) -> None:
        self.seconds = seconds
        self.waiting = waiting
        self._command = command
        self._at_work = threading.Lock()
        self._process = self._started()

    def ask(self, path: str, question: Json) -> Json:
        """The answer to one question of `QUESTIONS`.

        Raises:
            BusyError: It did not get its turn, or too little of the processor.
            TooMuchWorkError: It took too much work or too much memory.
        """
        deadline = time.monotonic() + self.waiting
        if not self._at_work.acquire(timeout=self.waiting):
            raise BusyError("The playground is busy with other questions. Try again.")
        try:
            reply = self._reply(json.dumps([path, question, self.seconds]).encode() + b"\n", deadline)
            if not reply and time.monotonic() >= deadline:
                self._end()
                self._process = self._started()
                raise BusyError(
                    f"There was no answer within {self.waiting:g} seconds. The machine may be busy with other work. "
                    "Try again."
                )
            if not reply:
                self._end()
                self._process = self._started()
                raise TooMuchWorkError(
                    f"These formulas take more than the {self.seconds:g} seconds of work, or the memory, that the "
                    "playground gives to a question. Take fewer of them, or smaller intervals and counts; `rewardspec "
                    "check` says of each how large its machine is."
                )
        finally:
            self._at_work.release()
        found = json.loads(reply)
        if "refused" in found:
            raise TooMuchWorkError(found["refused"])
        return found["answer"]

    def close(self) -> None:
        """End the process."""
        with self._at_work:
            self._end()

    def _started(self) -> subprocess.Popen[bytes]:
        # It finds this package where this process does, and an interrupt of the terminal does not reach it.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )

    def _reply(self, line: bytes, deadline: float) -> bytes:
        """The process's next line; empty where it ended, or was ended at the deadline."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(max(deadline - time.monotonic(), 0.0), process.kill)
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            return process.stdout.readline()
        except OSError:  # it has ended
            return b""
        finally:
            timer.cancel()

    def _end(self) -> None:
        self._process.kill()
        with contextlib.suppress(OSError):
            self._process.communicate()


def reply_to(path: str, question: Json) -> JsonObject:
    """Answer a question: with the result, or with the reason of a failure."""
    try:
        return {"answer": QUESTIONS[path](question)}
    except Error as error:
        return {"answer": {"error": str(error)}}
    except (RecursionError, OverflowError):
        return {"refused": "The formula is nested too deeply."}
    except MemoryError:
        return {"refused": "These formulas take more memory than the playground has. Take fewer or smaller ones."}


def main() -> None:
    """Answer questions until there are no more."""
    _limit_memory()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing else may get in between
    for line in sys.stdin:
        path, question, seconds = json.loads(line)
        _limit_work(seconds)
        replies.write(json.dumps(reply_to(path, question), allow_nan=False) + "\n")
        replies.flush()


def _limit_work(seconds: float) -> None:
    """Make the operating system end this process once it has worked so long from now on, where it can."""
    with contextlib.suppress(ImportError, AttributeError):
        import signal

        signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends the process


def _limit_memory() -> None:
    """Make the operating system refuse more memory than a question may take, where it can."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", encoding="ascii") as sizes:
            size = int(sizes.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + _MOST_MEMORY, size + _MOST_MEMORY))


if __name__ == "__main__":
    main()
