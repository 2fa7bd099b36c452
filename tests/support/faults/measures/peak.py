"""The most memory that a process has ever had, as the kernel has noted it."""

from pathlib import Path


def peak_mib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = (one for one in status.splitlines() if one.startswith("VmHWM:"))
    return int(line.split()[1]) >> 10
