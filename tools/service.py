"""`sparsight serve` in a process of its own, for tests and benches."""

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
    """A service on a free port, with its home in the folder, until `close` or the end of the block.

    settings  SPARSIGHT_*, such as token="…"; those of our own environment are not its
    Raises RuntimeError with what it said where it does not start.
    """

    def __init__(self, folder: Path, *options: str, **settings: str) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARSIGHT_")}
        self.environment |= {"SPARSIGHT_HOME": str(folder / "home"), "PYTHONUNBUFFERED": "1"}
        # Made-up requests and tests reach nobody else.
        self.environment["SPARSIGHT_COLLECTION_URL"] = ""
        self.environment |= {f"SPARSIGHT_{name.upper()}": value for name, value in settings.items()}
        self.log = (folder / "log").open("w+")
        command = [sys.executable, "-P", "-m", "sparsight", "serve", "--port", "0", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=self.environment, cwd=folder
        )
        line = self.process.stdout.readline() if self.process.stdout else ""
        found = re.search(r"http://\S+", line)
        if not found:
            self.close()
            raise RuntimeError(self.said())
        self.url = found[0]

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def said(self) -> str:
        """Its log."""
        return (self.folder / "log").read_text()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`sparsight run` with it as the server."""
        return self._python("-m", "sparsight", "run", *arguments, "--server", self.url)

    def notebook(self, file: str) -> subprocess.CompletedProcess[str]:
        """The script that the documents show, on a file beside the service."""
        return self._python(str(NOTEBOOK), self.url, file)

    def examples(self, document: Path, ending: str) -> subprocess.CompletedProcess[str]:
        """The examples of a document as one program that asks this service; ending: what it does after them."""
        blocks = re.findall(r"^```python\n(.*?)^```$", document.read_text(encoding="utf-8"), re.M | re.S)
        return self._python("-c", "\n".join((*blocks, ending)).replace("http://127.0.0.1:8000", self.url))

    def _python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", *arguments]
        return subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    def family(self) -> list[psutil.Process]:
        """The process and everything below it."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def close(self) -> None:
        """Kills all of it that still runs."""
        if self.process.poll() is None:
            for process in self.family():
                process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.log.close()
