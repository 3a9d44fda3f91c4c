"""What callers do with tasks, with the published clients over both bindings, while an agent works over the REST API."""

import uuid

import httpx
import pytest
from callers import Refused
from harness import wait_for


def state(task):
    return task["status"]["state"].removeprefix("TASK_STATE_")


def answers(task):
    return [part["text"] for artifact in task.get("artifacts", []) for part in artifact["parts"]]


def said(task):
    """Who said what, oldest first."""
    return [(entry["role"].removeprefix("ROLE_"), entry["parts"][0]["text"]) for entry in task["history"]]


def kinds(events):
    """The states and answers that a stream tells, and what it began with."""
    told = []
    for event in events:
        if "statusUpdate" in event:
            told.append(state(event["statusUpdate"]))
        elif "artifactUpdate" in event:
            told.append(event["artifactUpdate"]["artifact"]["parts"][0]["text"])
        else:
            told.append("task")
    return told


def test_the_card_is_public(scene, client):
    """Everybody can read the card of a listed agent; it names both bindings and how to send a key."""
    card = client(key=None).card()
    assert (card["name"], card["description"]) == ("Echo", "Answers with the words it was sent.")
    interfaces = {one["protocolBinding"]: one for one in card["supportedInterfaces"]}
    assert set(interfaces) == {"JSONRPC", "HTTP+JSON"}
    for one in interfaces.values():
        assert one["protocolVersion"] == "1.0" and one["url"].startswith(scene.url)
    assert card["capabilities"]["streaming"] is True
    assert card["capabilities"]["pushNotifications"]
    schemes = card["securitySchemes"].values()
    names = [scheme["apiKeySecurityScheme"]["name"] for scheme in schemes if "apiKeySecurityScheme" in scheme]
    assert names == ["X-API-Key"]
    assert [skill["description"] for skill in card["skills"]] == ["Answers with the words it was sent."]


def test_a_message_is_answered(scene, client):
    """A call waits for the answer; the room belongs to the caller, and has what was said."""
    with scene.agent.working():
        task = client().send("Hello")
    assert (state(task), answers(task)) == ("COMPLETED", ["You said: Hello"])
    assert said(task) == [("USER", "Hello"), ("AGENT", "You said: Hello")]
    assert scene.texts(task["contextId"]) == ["Hello", "You said: Hello"]


def test_a_task_follows_the_work(scene, client):
    """A call that does not wait returns at once, and later reads tell how far the agent is."""
    caller = client()
    task = caller.send("Hello", returnImmediately=True)
    assert (state(task), answers(task)) == ("SUBMITTED", [])
    work = scene.agent.take()
    assert work.text == "Hello"
    assert state(caller.get(task["id"])) == "WORKING"
    work.answer("Hi")
    work.step("processed")
    task = caller.get(task["id"])
    assert (state(task), answers(task)) == ("COMPLETED", ["Hi"])
    assert said(caller.get(task["id"], historyLength=1)) == [("AGENT", "Hi")]
    assert not caller.get(task["id"], historyLength=0).get("history")


def test_a_failure_is_told(scene, client):
    """An agent that gives up fails the task; one that tries again, and answers, completes it."""
    caller = client()
    task = caller.send("Hello", returnImmediately=True)
    scene.agent.take().step("failed", error="overloaded")
    assert state(caller.get(task["id"])) == "FAILED"
    work = scene.agent.take()
    assert state(caller.get(task["id"])) == "WORKING"
    work.step("processed")
    assert state(caller.get(task["id"])) == "COMPLETED"


def test_a_stream_tells_everything(scene, client):
    """A stream begins with the task, tells each change once and in order, and ends with the work."""
    events = client().stream("Hello")
    first = next(events)["task"]
    assert state(first) == "SUBMITTED"
    work = scene.agent.take()
    assert kinds([next(events)]) == ["WORKING"]
    work.answer("Hi")
    assert kinds([next(events)]) == ["Hi"]
    work.answer("there")
    work.step("processed")
    assert kinds(events) == ["there", "COMPLETED"]


def test_a_stream_is_taken_up_after_a_kill(scene, client):
    """After `kill -9` of the server, the caller subscribes again, and gets what it has missed."""
    caller = client()
    events = caller.stream("Hello")
    task = next(events)["task"]["id"]
    work = scene.agent.take()
    assert kinds([next(events)]) == ["WORKING"]
    scene.world.server.kill()
    with pytest.raises(Refused):
        list(events)
    scene.world.server.start()
    work.answer("Hi")
    events = caller.subscribe(task)
    taken_up = next(events)["task"]
    assert (taken_up["id"], state(taken_up), answers(taken_up)) == (task, "WORKING", ["Hi"])
    work.step("processed")
    assert kinds(events) == ["COMPLETED"]


def test_tasks_are_listed(scene, client):
    """All tasks of the caller at the agent, newest first, by room and by state, on pages."""
    caller = client()
    tasks = [caller.send(text, returnImmediately=True) for text in ("one", "two", "three")]
    work = scene.agent.take()
    work.step("processed")
    other = client(url=scene.address(listed(scene, "Other"))).send("elsewhere", returnImmediately=True)

    ids = [task["id"] for task in tasks]
    shown = caller.list()
    assert [task["id"] for task in shown["tasks"]] == ids[::-1]
    assert [task["id"] for task in caller.list(contextId=tasks[1]["contextId"])["tasks"]] == [ids[1]]
    (completed,) = caller.list(status="TASK_STATE_COMPLETED")["tasks"]
    assert state(completed) == "COMPLETED"
    waiting = caller.list(status="TASK_STATE_SUBMITTED")["tasks"]
    assert {completed["id"], *(task["id"] for task in waiting)} == set(ids)

    read, token = [], ""
    while len(read) < 9:
        page = caller.list(pageSize=2, **({"pageToken": token} if token else {}))
        read += [task["id"] for task in page["tasks"]]
        token = page.get("nextPageToken")
        if not token:
            break
    assert read == ids[::-1]
    assert other["id"] not in read


def listed(scene, name):
    agent = scene.register(name)
    scene.list(agent)
    return agent


def test_a_task_is_cancelled(scene, client):
    """A task that waits or is worked on can be cancelled, once; the agent gets it no more."""
    caller = client()
    waiting = caller.send("Hello", returnImmediately=True)
    assert state(caller.cancel(waiting["id"])) == "CANCELED"
    assert scene.agent.next() is None
    with pytest.raises(Refused) as refused:
        caller.cancel(waiting["id"])
    assert refused.value.kind == "TaskNotCancelableError"

    events = caller.stream("Hello again")
    task = next(events)["task"]["id"]
    scene.agent.take()
    assert kinds([next(events)]) == ["WORKING"]
    assert state(caller.cancel(task)) == "CANCELED"
    assert kinds(events) == ["CANCELED"]
    assert scene.agent.next() is None

    with scene.agent.working():
        done = caller.send("The last one")
    with pytest.raises(Refused) as refused:
        caller.cancel(done["id"])
    assert refused.value.kind == "TaskNotCancelableError"


def test_a_context_is_continued(scene, client):
    """A second message in the context is another task in the same room."""
    caller = client()
    with scene.agent.working():
        first = caller.send("one")
        second = caller.send("two", context=first["contextId"])
    assert second["contextId"] == first["contextId"] and second["id"] != first["id"]
    assert answers(second) == ["You said: two"]
    assert said(second) == [("USER", "two"), ("AGENT", "You said: two")]
    assert scene.texts(first["contextId"]) == ["one", "You said: one", "two", "You said: two"]


def test_an_agent_asks_back(scene, client):
    """A question ends the wait; the reply continues the task, and the agent completes it."""
    caller = client()
    events = caller.stream("Book a table")
    task = next(events)["task"]
    work = scene.agent.take()
    assert kinds([next(events)]) == ["WORKING"]
    work.ask("For how many?")
    told = list(events)
    assert kinds(told) == ["INPUT_REQUIRED"]
    question = told[0]["statusUpdate"]["status"]["message"]
    assert question["parts"][0]["text"] == "For how many?"
    assert state(caller.get(task["id"])) == "INPUT_REQUIRED"
    work.step("processed")
    with scene.agent.working():
        task = caller.send("Two", task=task["id"], context=task["contextId"])
    assert (task["id"], state(task)) == (told[0]["statusUpdate"]["taskId"], "COMPLETED")
    assert answers(task) == ["You said: Two"]


def test_a_repeated_message_is_one_task(scene, client):
    """A message that is sent again with its id is the same task."""
    caller, once = client(), uuid.uuid4().hex
    first = caller.send("Hello", message_id=once, returnImmediately=True)
    again = caller.send("Hello", message_id=once, returnImmediately=True)
    assert again["id"] == first["id"]
    scene.agent.take().step("processed")
    assert scene.agent.next() is None


def test_agents_call_agents(scene, client):
    """An agent asks another agent of its owner, with its own key."""
    asking = scene.register("Asker")
    with scene.agent.working():
        task = client(key=asking.key).send("Hello")
    assert (state(task), answers(task)) == ("COMPLETED", ["You said: Hello"])
    with pytest.raises(Refused) as refused:
        client().get(task["id"])
    assert refused.value.kind == "TaskNotFoundError"


def test_a_fault_of_the_caller_is_named(scene, client):
    """Unknown tasks, content that agents cannot read, and what is not supported have the errors of the protocol."""
    caller = client()
    task = caller.send("Hello", returnImmediately=True)
    room, _, root = task["id"].partition(".")
    unknown = [f"{uuid.uuid4()}.{root}", f"{room}.{uuid.uuid4()}", str(uuid.uuid4()), "x"]
    for name in unknown:
        for call in (caller.get, caller.cancel, lambda name: list(caller.subscribe(name))):
            with pytest.raises(Refused) as refused:
                call(name)
            assert refused.value.kind == "TaskNotFoundError", (name, refused.value)
    raw = {"raw": "aGVsbG8=", "mediaType": "application/octet-stream"}
    with pytest.raises(Refused) as refused:
        caller.send("", parts=[raw])
    assert refused.value.kind == "ContentTypeNotSupportedError"
    push = {"taskId": task["id"], "url": "https://169.254.169.254/"}
    with pytest.raises(Refused, match="url must not name a private, local, or reserved address"):
        caller.one("createTaskPushNotificationConfig", push)


def test_callers_need_a_key(scene, client):
    """Without a key, or with a wrong one, nothing but the card can be read."""
    for key in (None, "thnv_u_1_wrong"):
        caller = client(key=key)
        for call in (lambda: caller.send("Hello"), lambda: caller.list(), lambda: list(caller.stream("Hello"))):
            with pytest.raises(Refused, match="401|unauthorized"):
                call()
    assert scene.agent.next() is None


def test_an_agent_that_is_not_listed_is_not_there(scene, client):
    """It has no card, and cannot be called by somebody who kept the address."""
    before = client()
    task = before.send("Hello", returnImmediately=True)
    scene.list(scene.agent, listed=False)
    for caller in (before, client()):
        with pytest.raises(Refused, match="404|Not Found"):
            caller.card()
    url = f"{scene.url}/v1/tasks/{task['id']}"
    headers = {"X-API-Key": scene.key, "A2A-Version": "1.0"}
    answer = httpx.get(url, headers=headers, trust_env=False)
    assert answer.status_code == 404, answer.text
    scene.list(scene.agent)
    wait_for("the agent is listed again", lambda: client().card()["name"] == "Echo")


def test_strangers_are_refused(scene, client):
    """Somebody who could not add the agent to a room cannot call it."""
    key = scene.stranger()
    with pytest.raises(Refused, match="403 Forbidden|403$|-32000|forbidden"):
        client(key=key).send("Hello")
    assert scene.agent.next() is None
