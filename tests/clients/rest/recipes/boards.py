"""The goals and tasks of rooms."""

from .scene import NOBODY, cast

WORK_NEEDS_AN_ACTIVE_TASK = "Work fields and comments require an active task"


def list_chat_tasks(kit):
    _, agent, room = cast(kit)
    assert agent.list_chat_tasks(chat_id=room).data == []
    made = [agent.create_chat_task(chat_id=room, subject=f"Task {n}").data for n in range(5)]
    agent.update_chat_task(chat_id=room, id="2", state="archived")
    assert [row["number"] for row in agent.list_chat_tasks(chat_id=room).data] == [1, 3, 4, 5]
    assert [row["number"] for row in agent.list_chat_tasks(chat_id=room, state="archived").data] == [2]
    seen, cursor = [], None
    while True:
        page = agent.list_chat_tasks(chat_id=room, state="all", limit=1, cursor=cursor)
        seen += page.ids
        cursor = page.body["metadata"]["next_cursor"]
        assert page.body["metadata"]["has_more"] == (cursor is not None)
        if cursor is None:
            break
    assert seen == [task["id"] for task in made]
    kit.refused(404, "not_found", kit.agent(kit.bob).list_chat_tasks, chat_id=room)


def create_chat_task(kit):
    ann, agent, room = cast(kit)
    made = agent.create_chat_task(chat_id=room, subject="Write the notes")
    assert made.status == 201
    task = made.data
    assert (task["number"], task["state"], task["overall_status"]) == (1, "active", "pending")
    assert (task["detail"], task["assignments"], task["superseded_by_id"]) == ("", [], None)
    assert task["created_by"]["id"] == agent.id and task["created_by"]["handle"] == agent.handle
    assert task["started_at"] is None and task["completed_at"] is None and "history" not in task
    better = agent.create_chat_task(chat_id=room, subject="Better", detail="More", supersedes_id="1").data
    old = agent.get_chat_task(chat_id=room, id="1").data
    assert (old["state"], old["superseded_by_id"]) == ("superseded", better["id"])
    kit.refused(422, "task_not_active", agent.create_chat_task, chat_id=room, subject="x", supersedes_id="1")
    error = kit.refused(422, "validation_error", agent.create_chat_task, chat_id=room, subject="x" * 501)
    assert error["details"]["/subject"] == ["must be at most 500 characters"]
    error = kit.refused(422, "validation_error", agent.create_chat_task, chat_id=room, subject="x", supersedes_id="9")
    assert error["details"]["/supersedes_id"]
    kit.refused(404, "not_found", agent.create_chat_task, chat_id=NOBODY, subject="x")
    counts = ann.get_my_chat_room(id=room).data["task_counts"]
    assert counts["pending"] == 1 and sum(counts.values()) == 1


def get_chat_task(kit):
    _, agent, room = cast(kit)
    task = agent.create_chat_task(chat_id=room, subject="Write").data
    for name in (task["id"], task["id"].upper(), "1"):
        assert agent.get_chat_task(chat_id=room, id=name).data["id"] == task["id"]
    shown = agent.get_chat_task(chat_id=room, id="1", include="history").data
    assert [entry["event"] for entry in shown["history"]] == ["created"]
    assert set(shown["history"][0]) == {"event", "actor", "at", "payload"} and shown["history_truncated"] is False
    for name in ("2", "0", "01", NOBODY):
        error = kit.refused(404, "not_found", agent.get_chat_task, chat_id=room, id=name)
        assert error["message"] == "Resource not found"


def update_chat_task(kit):
    _, agent, room = cast(kit)
    agent.create_chat_task(chat_id=room, subject="Write")
    update = agent.update_chat_task
    task = update(chat_id=room, id="1", status="in_progress", active_form="Writing", linked_native_id="t-1").data
    own = task["assignments"][0]
    assert (own["assignee"]["id"], own["status"]) == (agent.id, "in_progress")
    assert (own["active_form"], own["linked_native_id"]) == ("Writing", "t-1")
    assert task["overall_status"] == "in_progress" and task["started_at"]
    update(chat_id=room, id="1", subject="Write more", detail="All of it", comment="Half done.")
    done = update(chat_id=room, id="1", status="completed", state="archived").data
    assert (done["state"], done["overall_status"], done["subject"]) == ("archived", "completed", "Write more")
    error = kit.refused(422, "task_not_active", update, chat_id=room, id="1", comment="x")
    assert (error["message"], error["details"]) == (WORK_NEEDS_AN_ACTIVE_TASK, {})
    assert update(chat_id=room, id="1", state="active").data["state"] == "active"
    kit.refused(422, "validation_error", update, chat_id=room, id="1")


def get_chat_task_history(kit):
    _, agent, room = cast(kit)
    agent.create_chat_task(chat_id=room, subject="Write")
    agent.update_chat_task(chat_id=room, id="1", status="pending", comment="Seen.")
    first = agent.get_chat_task_history(chat_id=room, id="1", limit=2)
    assert [entry["event"] for entry in first.data] == ["created", "status_changed"]
    assert first.data[1]["payload"] == {"status": {"from": None, "to": "pending"}}
    rest = agent.get_chat_task_history(chat_id=room, id="1", cursor=first.body["metadata"]["next_cursor"])
    assert [entry["payload"] for entry in rest.data] == [{"text": "Seen."}]
    assert rest.body["metadata"] == {"has_more": False, "limit": 50, "next_cursor": None}
    kit.refused(404, "not_found", kit.agent(kit.bob).get_chat_task_history, chat_id=room, id="1")


def get_chat_board(kit):
    _, agent, room = cast(kit)
    board = agent.get_chat_board(chat_id=room).data
    assert board.pop("chat_room_id") == room and set(board.values()) == {None}
    agent.put_chat_board(chat_id=room, goal_title="Ship it")
    shown = agent.get_chat_board(chat_id=room, include="history").data
    assert [entry["event"] for entry in shown["history"]] == ["goal_set"]
    kit.refused(404, "not_found", kit.agent(kit.bob).get_chat_board, chat_id=room)


def put_chat_board(kit):
    _, agent, room = cast(kit)
    agent.put_chat_board(chat_id=room, goal_title="Ship it")
    board = agent.put_chat_board(chat_id=room, goal_summary="By Friday").data
    assert (board["goal_title"], board["goal_summary"]) == ("Ship it", "By Friday")
    assert board["created_by"]["id"] == board["updated_by"]["id"] == agent.id
    kit.refused(422, "validation_error", agent.put_chat_board, chat_id=room)
    kit.refused(404, "not_found", agent.put_chat_board, chat_id=NOBODY, goal_title="x")
