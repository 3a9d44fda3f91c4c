"""One recipe for every operation: what it needs, the call, and what must be true after.

The name of a function is the name of the operation. Parameters only newer versions know
are used where the version under test has them.
"""

from . import agent_messages, agent_rooms, boards, bulk, contacts, files, memories, people, rooms, server

PARTS = (agent_rooms, agent_messages, boards, bulk, files, people, rooms, contacts, memories, server)


def find(operation):
    """The recipe of an operation; None if it has none."""
    found = [recipe for part in PARTS if callable(recipe := getattr(part, operation, None))]
    return found[0] if found else None
