"""Deleting several agents or rooms in the background."""

import time

from .scene import NOBODY, cast, tell

COUNTS = ("total", "processed", "succeeded", "failed")


def finished(kit, accepted):
    """The finished job of an accepted request."""
    assert accepted.status == 202
    for _ in range(200):
        shown = kit.ann.show_my_bulk_deletion(id=accepted.data["id"])
        if shown.data["completed_at"]:
            assert shown.data["status"] == "completed" and shown.data["started_at"]
            return shown.data
        time.sleep(0.1)
    raise AssertionError(f"the job does not end: {shown.data}")


def errors(job):
    return [row.get("error", {}).get("code") for row in job["results"]]


def bulk_delete_my_agents(kit):
    _, busy, room = cast(kit)
    idle, foreign = kit.agent(kit.ann, "Idle Bot"), kit.agent(kit.bob, "Foreign Bot")
    tell(busy, room, kit.ann)
    ids = [busy.id, idle.id, foreign.id, "odd"]
    accepted = kit.ann.bulk_delete_my_agents(ids=ids)
    assert (accepted.data["resource_type"], accepted.data["force"], accepted.data["total"]) == ("agent", False, 4)
    job = finished(kit, accepted)
    assert [row["id"] for row in job["results"]] == ids
    assert errors(job) == ["execution_history_exists", None, "not_found", "not_found"]
    assert [job[count] for count in COUNTS] == [4, 4, 1, 3]
    job = finished(kit, kit.ann.bulk_delete_my_agents(ids=[busy.id], force=True))
    assert (errors(job), job["force"]) == ([None], True)
    for agent in (busy, idle):
        kit.refused(401, "unauthorized", agent.get_agent_me)
    foreign.get_agent_me()
    for wrong in ([], [NOBODY, NOBODY], [str(number) for number in range(101)]):
        kit.refused(422, "validation_error", kit.ann.bulk_delete_my_agents, ids=wrong)
    kit.refused(422, "validation_error", kit.ann.bulk_delete_my_agents, ids=[NOBODY], force="true")
    kit.refused(403, "forbidden", foreign.bulk_delete_my_agents, ids=[NOBODY])


def bulk_delete_my_chats(kit):
    agent = kit.agent(kit.ann)
    own, of_agent = kit.room(kit.ann), kit.room(agent)
    foreign = kit.room(kit.bob)
    job = finished(kit, kit.ann.bulk_delete_my_chats(ids=[own, foreign, of_agent]))
    assert (job["resource_type"], errors(job)) == ("chat", [None, "not_found", None])
    for room in (own, of_agent):
        kit.refused(404, "not_found", kit.ann.get_my_chat_room, id=room)
    assert kit.bob.get_my_chat_room(id=foreign).data["id"] == foreign
    kit.refused(422, "validation_error", kit.ann.bulk_delete_my_chats, ids=[])


def show_my_bulk_deletion(kit):
    accepted = kit.ann.bulk_delete_my_chats(ids=["odd"])
    assert finished(kit, accepted)["results"][0]["id"] == "odd"
    kit.refused(404, "not_found", kit.bob.show_my_bulk_deletion, id=accepted.data["id"])
    kit.refused(404, "not_found", kit.ann.show_my_bulk_deletion, id=NOBODY)
