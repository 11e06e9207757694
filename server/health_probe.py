"""`python -P -m server.health_probe URL`: exit with 0 if a health page of the service reports success, else 1.

Containers run it as their health check.
"""

import sys
from urllib.error import URLError
from urllib.request import Request, urlopen

PATIENCE_S = 5


def main() -> int:
    """Print the content of the page, or the reason why it cannot be read."""
    # The server does not accept the name by which another container reaches it.
    request = Request(sys.argv[1], headers={"Host": "localhost"})
    try:
        with urlopen(request, timeout=PATIENCE_S) as answer:
            print(answer.read().decode())  # noqa: T201
    except URLError as error:
        print(error)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
