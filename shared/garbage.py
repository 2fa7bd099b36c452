"""What stands once a process has started is no rubbish, and is not looked through."""

import gc


def spare_what_stands() -> None:
    """Collect once, then leave all that stands by now out of every collection.

    Looking through it would hold up every thread for 40 ms and more, amid whatever
    they are answering; and in a forked child it would write to all of it, and so copy.
    """
    gc.collect()
    gc.freeze()
