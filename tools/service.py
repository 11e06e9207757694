"""`sparsight serve` in its own process, for tests and benchmarks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil

LIMIT_S = 600.0
NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.py"
MATRIX = "%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1\n1 4 2\n3 2 -3\n3 3 0.5\n"


class Service:
    """A service on a free port with its data directory in the folder, until `close` or the end of the block.

    settings  SPARSIGHT_*, such as token="…"; it does not inherit those of our environment
    Raises RuntimeError with its log if it does not start.
    """

    def __init__(self, folder: Path, *options: str, **settings: str) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARSIGHT_")}
        self.environment |= {"SPARSIGHT_HOME": str(folder / "home"), "PYTHONUNBUFFERED": "1"}
        # Generated requests and tests must not reach other hosts.
        self.environment["SPARSIGHT_COLLECTION_URL"] = ""
        self.environment |= {f"SPARSIGHT_{name.upper()}": value for name, value in settings.items()}
        self.log = (folder / "log").open("w+")
        command = [sys.executable, "-P", "-m", "sparsight", "serve", "--port", "0", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=self.environment, cwd=folder
        )
        line = self.process.stdout.readline() if self.process.stdout else ""
        address = re.search(r"http://\S+", line)
        if not address:
            self.close()
            raise RuntimeError(self.log_text())
        self.url = address[0]

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def log_text(self) -> str:
        """Return its log."""
        return (self.folder / "log").read_text()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `sparsight run` with this server."""
        return self._python("-m", "sparsight", "run", *arguments, "--server", self.url)

    def notebook(self, file: str) -> subprocess.CompletedProcess[str]:
        """Run the script of the documents on a file in the folder of the service."""
        return self._python(str(NOTEBOOK), self.url, file)

    def examples(self, document: Path, ending: str) -> subprocess.CompletedProcess[str]:
        """Run the examples of a document as one program against this service; ending: code after them."""
        blocks = re.findall(r"^```python\n(.*?)^```$", document.read_text(encoding="utf-8"), re.M | re.S)
        return self._python("-c", "\n".join((*blocks, ending)).replace("http://127.0.0.1:8000", self.url))

    def _python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", *arguments]
        return subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    def family(self) -> list[psutil.Process]:
        """Return the process and all its descendants."""
        process = psutil.Process(self.process.pid)
        return [process, *process.children(recursive=True)]

    def close(self) -> None:
        """Kill all processes that still run."""
        if self.process.poll() is None:
            for process in self.family():
                process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.log.close()
