"""The scheduler and what runs its tasks: order, limits, failures, locks, processes, submitit."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sag_vicreg.errors import InputError
from sag_vicreg.reproduce.executors import ClusterExecutor, Processes
from sag_vicreg.reproduce.grid import WorkerPool
from sag_vicreg.reproduce.scheduler import BUSY, DONE, Task, run_tasks
from sag_vicreg.reproduce.store import Store


class Now:
    """An executor that runs at submit and answers at once, keeping the order."""

    def __init__(self) -> None:
        self.at_once = 0

    def submit(self, function: Callable[..., Any], /, *args: Any) -> "Now.Answer":
        return Now.Answer(function, args)

    class Answer:
        def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
            self.function, self.args = function, args

        def done(self) -> bool:
            return True

        def result(self) -> Any:
            return self.function(*self.args)


def test_each_task_runs_once_after_what_it_needs() -> None:
    order: list[str] = []

    def work(name: str) -> str:
        order.append(name)
        return DONE

    tasks = [
        Task("compare", "compare", work, ("compare",), needs=("a", "b", "published elsewhere")),
        Task("a", "a", work, ("a",)),
        Task("b", "b", work, ("b",)),
    ]
    seconds: list[float] = []
    assert run_tasks(tasks, Now(), jobs=1, advance=seconds.append) == {}
    assert order == ["a", "b", "compare"]
    assert sum(seconds) == pytest.approx(3.0)


def test_a_failure_costs_only_what_needs_it() -> None:
    def fail() -> str:
        raise RuntimeError("collapsed at step 7")

    lines: list[str] = []
    tasks = [
        Task("bad", "the bad one", fail),
        Task("good", "good", lambda: DONE),
        Task("after", "after", lambda: DONE, needs=("bad", "good")),
        Task("last", "last", lambda: DONE, needs=("after",)),
    ]
    failures = run_tasks(tasks, Now(), jobs=2, note=lines.append)
    assert failures == {
        "bad": "RuntimeError: collapsed at step 7",
        "after": "what it needs has failed",
        "last": "what it needs has failed",
    }
    assert "failed: the bad one (RuntimeError: collapsed at step 7)" in lines
    assert "done: good" in lines


def test_a_users_mistake_ends_everything() -> None:
    def fail() -> str:
        raise InputError("no cifar100 under /data")

    with pytest.raises(InputError, match="no cifar100"):
        run_tasks([Task("a", "a", fail), Task("b", "b", lambda: DONE)], Now(), jobs=1)


def test_a_task_busy_elsewhere_is_asked_for_again_and_others_go_first() -> None:
    order: list[str] = []
    answers = iter([BUSY, BUSY, DONE])

    def busy() -> str:
        order.append("busy")
        return next(answers)

    def other() -> str:
        order.append("other")
        return DONE

    tasks = [Task("busy", "busy", busy), Task("other", "other", other)]
    assert run_tasks(tasks, Now(), jobs=1, retry_seconds=0.01) == {}
    assert order[:2] == ["busy", "other"]
    assert order.count("busy") == 3


def test_a_task_somebody_is_at_is_not_even_sent_out() -> None:
    sent: list[str] = []
    free = iter([False, False, True])

    def work() -> str:
        sent.append("sent")
        return DONE

    task = Task("a", "a", work, free=lambda: next(free))
    assert run_tasks([task], Now(), jobs=1, retry_seconds=0.01) == {}
    assert sent == ["sent"]


@pytest.mark.parametrize(
    ("asked", "threads"), [(None, 4), ("1", 1), ("2,1", 2), ("64", 4), ("0", 4), ("many", 4)]
)
def test_jobs_share_the_cores_and_no_job_takes_more_than_it_may(
    asked: str | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sag_vicreg.reproduce.grid.core_count", lambda: 8)
    monkeypatch.setattr("sag_vicreg.machine.core_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert WorkerPool(jobs=2).threads == threads
    assert WorkerPool(jobs=2, cluster="slurm").threads is None


def _crash() -> str:
    os._exit(3)


def _fine() -> str:
    return DONE


def _never_end(path: str) -> str:
    Path(path).write_text(str(os.getpid()))
    threading.Event().wait()
    return DONE


class Counting:
    """Hands tasks on, and notes how many are out when the next one goes."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.sent: list[Any] = []
        self.out: list[int] = []

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        # Every answer is asked for: one that has come counts until it has been taken.
        answer = Asked(self.executor.submit(function, *args))
        self.sent.append(answer)
        self.out.append(sum(not sent.taken for sent in self.sent))
        return answer


class Asked:
    def __init__(self, answer: Any) -> None:
        self.answer, self.taken = answer, False

    def done(self) -> bool:
        return bool(self.answer.done())

    def result(self) -> Any:
        self.taken = True
        return self.answer.result()


@pytest.mark.slow
def test_processes_run_at_most_so_many_at_once(tmp_path: Path) -> None:
    tasks = [Task(str(i), str(i), _fine) for i in range(4)]
    with closing(Processes(tmp_path / "log")) as executor:
        counting = Counting(executor)
        assert run_tasks(tasks, counting, jobs=2) == {}
    assert len(counting.out) == 4
    assert max(counting.out) == 2


def test_a_process_that_dies_is_a_failure_and_not_a_hang(tmp_path: Path) -> None:
    with closing(Processes(tmp_path / "log")) as executor:
        tasks = [Task("a", "a", _crash), Task("b", "b", _fine)]
        failures = run_tasks(tasks, executor, jobs=1)
    assert list(failures) == ["a"]
    assert "BrokenProcessPool" in failures["a"]


def wait_until(reached: Callable[[], bool]) -> None:
    """Wait as long as it takes on this machine; what never comes runs into pytest's timeout."""
    while not reached():
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_ctrl_c_ends_what_runs(tmp_path: Path) -> None:
    started = tmp_path / "started"

    def interrupt_when_started() -> float:
        if started.exists() and started.read_text():
            raise KeyboardInterrupt
        return 0.0

    task = Task("a", "a", _never_end, (str(started),), progress=interrupt_when_started)
    with pytest.raises(KeyboardInterrupt), closing(Processes(tmp_path / "log")) as executor:
        run_tasks([task], executor, jobs=1)
    wait_until(lambda: is_gone(int(started.read_text())))


def test_workers_do_not_outlive_a_killed_grid(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = tmp_path / "grid.py"
    script.write_text(
        "import sys, threading, pathlib\n"
        "from contextlib import closing\n"
        "from sag_vicreg.reproduce.executors import Processes\n"
        "def wait(path):\n"
        "    import os\n"
        "    pathlib.Path(path).write_text(str(os.getpid())); threading.Event().wait()\n"
        "if __name__ == '__main__':\n"
        "    with closing(Processes(pathlib.Path(sys.argv[1] + '.log'))) as executor:\n"
        "        executor.submit(wait, sys.argv[1]).result()\n"
    )
    grid = subprocess.Popen([sys.executable, str(script), str(pid_file)])
    wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
    worker = int(pid_file.read_text())
    grid.kill()
    grid.wait()
    wait_until(lambda: is_gone(worker))


def test_two_processes_never_hold_the_same_cell(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from sag_vicreg.reproduce.store import Store\n"
        "with Store(pathlib.Path(sys.argv[1])).hold('cell') as mine:\n"
        "    print(mine, flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipe = subprocess.PIPE
    other = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert other.stdout is not None
    assert other.stdout.readline().strip() == "True"
    with Store(tmp_path).hold("cell") as mine:
        assert not mine
    with Store(tmp_path).hold("another cell") as mine:
        assert mine
    other.kill()
    other.wait()
    with Store(tmp_path).hold("cell") as mine:
        assert mine


def _square_into(path: str, value: int) -> str:
    Path(path).write_text(str(value * value))
    return DONE


@pytest.mark.slow
def test_the_same_tasks_go_out_through_submitit(tmp_path: Path) -> None:
    executor = ClusterExecutor(tmp_path / "jobs", "local", {"timeout_min": 60})
    tasks = [
        Task("a", "a", _square_into, (str(tmp_path / "a"), 3)),
        Task("b", "b", _square_into, (str(tmp_path / "b"), 4), needs=("a",)),
    ]
    assert run_tasks(tasks, executor, jobs=2) == {}
    assert [(tmp_path / name).read_text() for name in "ab"] == ["9", "16"]


@pytest.mark.parametrize(
    ("cluster", "options", "message"),
    [
        ("slrm", {}, "did you mean 'slurm'"),
        ("slurm", {}, "cannot send jobs to slurm"),
        ("local", {"slurm_partitoin": "gpu"}, "cannot send jobs to local"),
        ("local", {"timeout_min": "soon"}, "timeout_min"),
    ],
)
def test_a_wrong_cluster_is_one_line(
    tmp_path: Path, cluster: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ClusterExecutor(tmp_path, cluster, options)
