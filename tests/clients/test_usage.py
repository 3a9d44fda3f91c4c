"""The tokens that an agent on band-sdk 6.0.1 reports, and their sums."""

MEMBERS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reports")


def usage(world, **query):
    answer = world.human.http.get("/usage", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def counts(row):
    return [row[member] for member in MEMBERS]


def test_reports_of_the_sdk_are_summed(world):
    credentials = world.human.register_agent("Echo")
    room = world.human.open_room(credentials.agent_id)
    agent = world.agent(credentials, script="usage_agent.py")
    agent.start()
    for _ in range(4):
        room.say()
    room.wait_until_settled(agent).assert_each_answered_once()

    # What the client sent, as the room shows it.
    events = [message for message in room.read() if message["message_type"] == "task"]
    sent = [event["metadata"]["band_usage"] for event in events]
    assert len(sent) == 5, "one report a turn, and none of nothing"
    assert all(set(report) == set(MEMBERS[:4]) for report in sent), "no member has been added"
    expected = [sum(report[member] for report in sent) for member in MEMBERS[:4]] + [5]
    assert expected[1:] == [40, 15, 25, 5]

    listed = usage(world)
    assert [row["id"] for row in listed["data"]] == [credentials.agent_id]
    assert counts(listed["data"][0]) == counts(listed["metadata"]["totals"]) == expected
    by_room = usage(world, group_by="room", agent_id=credentials.agent_id)
    assert [(row["id"], counts(row)) for row in by_room["data"]] == [(room.id, expected)]
    # Each turn belongs to the message that it answers.
    trees = usage(world, group_by="tree", chat_id=room.id)
    assert {row["id"] for row in trees["data"]} == set(room.ids().values())
    assert all(counts(row)[1:] == [8, 3, 5, 1] for row in trees["data"])
    message = trees["data"][0]["id"]
    tree = world.human.http.get(f"/chats/{room.id}/messages/{message}/tree").json()
    assert counts(tree["metadata"]["usage"]) == counts(trees["data"][0])
