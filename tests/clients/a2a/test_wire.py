"""What the published clients do not send: headers to go on with a stream or to repeat a request, other versions, agents that
are not listed."""

import json
import uuid

import httpx
import pytest
from callers import message


@pytest.fixture
def http(scene):
    headers = {"X-API-Key": scene.key, "A2A-Version": "1.0"}
    with httpx.Client(headers=headers, timeout=60, trust_env=False) as http:
        yield http


def rpc(method, request):
    return {"jsonrpc": "2.0", "id": "a", "method": method, "params": request}


def events(lines):
    """The events of a stream: their ids and contents."""
    number = None
    for line in lines:
        if line.startswith("id: "):
            number = line.removeprefix("id: ")
        elif line.startswith("data: "):
            yield number, json.loads(line.removeprefix("data: "))


def test_a_stream_goes_on_behind_the_last_event(scene, http):
    """With the id of the last event, nothing that was told before is told again, on both bindings."""
    with http.stream("POST", f"{scene.url}/v1/message:stream", json=message("Hello")) as response:
        told = events(response.iter_lines())
        _, first = next(told)
        task = first["task"]["id"]
        work = scene.agent.take()
        next(told)
        work.answer("one")
        last, answer = next(told)
        assert answer["artifactUpdate"]["artifact"]["parts"] == [{"text": "one"}]
    work.answer("two")
    work.answer("three")
    work.step("processed")
    resumed = {"Last-Event-ID": last}
    with http.stream("POST", f"{scene.url}/v1/tasks/{task}:subscribe", headers=resumed) as response:
        plain = list(events(response.iter_lines()))
    with http.stream("POST", scene.url, json=rpc("SubscribeToTask", {"id": task}), headers=resumed) as response:
        framed = list(events(response.iter_lines()))
    assert [(number, frame["result"]) for number, frame in framed] == plain
    assert all(frame["id"] == "a" for _, frame in framed)
    answers = [event["artifactUpdate"]["artifact"]["parts"] for _, event in plain[:-1]]
    assert answers == [[{"text": "two"}], [{"text": "three"}]]
    assert plain[-1][1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    numbers = [int(number) for number, _ in plain]
    assert numbers == sorted(numbers) and numbers[0] > int(last)


def test_a_key_repeats_a_request(scene, http):
    """A request with the `Idempotency-Key` of another one is the same task; with another text, it is refused."""
    once = {"Idempotency-Key": uuid.uuid4().hex}
    send = lambda text: http.post(
        f"{scene.url}/v1/message:send", json=message(text, returnImmediately=True), headers=once
    )
    first = send("Hello")
    assert first.status_code == 200, first.text
    again = send("Hello")
    assert again.json()["task"]["id"] == first.json()["task"]["id"]
    other = send("Hello?")
    assert other.is_client_error, other.text


def test_other_versions_are_refused(scene, http):
    """Requests of other versions of the protocol are told so, in the words of each binding."""
    old = {"A2A-Version": "0.3"}
    plain = http.get(f"{scene.url}/v1/tasks", headers=old)
    assert plain.status_code == 400
    assert plain.json()["error"]["details"][0]["reason"] == "VERSION_NOT_SUPPORTED"
    framed = http.post(scene.url, json=rpc("ListTasks", {}), headers=old)
    assert framed.json()["error"]["code"] == -32009


def test_an_agent_that_is_not_listed_answers_404(scene, http):
    """Everything about it is 404, also for its owner, with and without a task that exists."""
    task = http.post(f"{scene.url}/v1/message:send", json=message("Hello", returnImmediately=True)).json()["task"]["id"]
    scene.list(scene.agent, listed=False)
    nobody = f"{scene.world.server.url}/a2a/{uuid.uuid4()}"
    for url in (scene.url, nobody, f"{scene.world.server.url}/a2a/x"):
        assert http.get(f"{url}/.well-known/agent-card.json").status_code == 404, url
        for method, path in [
            ("POST", "/v1/message:send"),
            ("POST", "/v1/message:stream"),
            ("GET", "/v1/tasks"),
            ("GET", f"/v1/tasks/{task}"),
            ("POST", f"/v1/tasks/{task}:cancel"),
            ("POST", f"/v1/tasks/{task}:subscribe"),
        ]:
            body = message("Hello") if "message" in path else None
            answer = http.request(method, url + path, json=body)
            assert answer.status_code == 404, (url, path, answer.text)
        answer = http.post(url, json=rpc("GetTask", {"id": task}))
        assert answer.status_code == 404, (url, answer.text)


def test_a_limited_key_keeps_its_limits(scene, http):
    """A key for reading reads tasks and sends nothing; one for a chat is for that chat alone."""
    task = http.post(f"{scene.url}/v1/message:send", json=message("Hello", returnImmediately=True)).json()["task"]
    with_key = lambda **limits: {"X-API-Key": scene.new_key(**limits)}
    reading = with_key(read_only=True)
    assert http.get(f"{scene.url}/v1/tasks/{task['id']}", headers=reading).status_code == 200
    refused = http.post(f"{scene.url}/v1/message:send", json=message("Hello"), headers=reading)
    assert refused.status_code == 403, refused.text
    inside = with_key(chat_id=task["contextId"])
    again = message("Hello again", context=task["contextId"], returnImmediately=True)
    assert http.post(f"{scene.url}/v1/message:send", json=again, headers=inside).status_code == 200
    outside = http.post(f"{scene.url}/v1/message:send", json=message("Hello"), headers=inside)
    assert outside.status_code == 403, outside.text
