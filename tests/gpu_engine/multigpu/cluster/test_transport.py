"""What waits for an actor until it comes to it."""

import threading

from gpu_engine.multigpu.cluster.transport import Mailbox


def test_what_arrives_early_waits_for_its_exchange() -> None:
    """A member that fetches nothing in an exchange is ahead of the others."""
    mailbox = Mailbox()
    for exchange, source in ((2, 1), (1, 2), (1, 1)):
        mailbox.deliver(exchange, source, (exchange, source))
    for exchange, source in ((1, 1), (1, 2), (2, 1)):
        assert mailbox.take(exchange, source) == (exchange, source)


def test_what_is_not_there_yet_is_waited_for() -> None:
    mailbox, found = Mailbox(), list[str]()
    taker = threading.Thread(target=lambda: found.append(mailbox.take(1, 0)), daemon=True)
    taker.start()
    mailbox.deliver(1, 5, "of another member")
    mailbox.deliver(2, 0, "of a later exchange")
    mailbox.deliver(1, 0, "this one")
    taker.join(60.0)
    assert found == ["this one"]
