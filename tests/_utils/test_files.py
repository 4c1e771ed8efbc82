import os
import subprocess
import sys

import pytest

import easee
from easee._utils.files import replacing


def test_a_symbolic_link_is_kept(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    easee.commute("a", "b").save(link)
    assert link.is_symlink() and "a b ~ b a" in target.read_text()


def test_only_ordinary_files_are_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "file.txt").touch()
    for path in (pipe, tmp_path, tmp_path / "file.txt" / "below", "/proc/nothing/here"):
        with pytest.raises(easee.WriteError, match="cannot write"), replacing(path) as file:
            file.write(b"x")
    assert pipe.is_fifo()


def test_a_full_disk_raises_write_error_and_keeps_the_old_file(tmp_path):
    path = tmp_path / "policy.npz"
    path.write_bytes(b"old")
    program = f"""
import resource, signal, easee
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
policy = easee.compile(easee.priors.catcher(), 20)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    policy.save({str(path)!r})
except easee.WriteError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "cannot write" in done.stdout, done.stderr
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_permissions_are_kept_and_names_may_be_long(tmp_path):
    path = tmp_path / f"{'x' * 250}.txt"
    easee.commute("a", "b").save(path)
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    path.chmod(0o600)
    easee.commute("b", "a").save(path)
    assert path.stat().st_mode & 0o777 == 0o600 and "b a ~ a b" in path.read_text()
