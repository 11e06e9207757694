"""`python -P -m server.probe URL`: exit status 0 where a health page of the service answers well. Containers ask it."""

import sys
from urllib.error import URLError
from urllib.request import Request, urlopen

PATIENCE_S = 5


def main() -> int:
    """Prints what the page says, or why nothing was said."""
    # The name by which another container calls the server is none of the names that it answers to.
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
