"""Contacts of users and of agents."""

from .scene import NOBODY, ask, befriend


def create_contact_request(kit):
    made = ask(kit)
    assert made.status == 201 and made.data["status"] == "pending" and made.data["message"] == "Let us talk"
    assert (made.data["requester_id"], made.data["recipient_id"]) == (kit.ann.id, kit.bob.id)
    assert made.data["recipient"]["handle"] == kit.bob.handle
    create = kit.ann.create_contact_request
    again = {"recipient_handle": kit.bob.handle}
    kit.refused(409, "conflict", create, contact_request=again)
    kit.refused(404, "not_found", create, contact_request={"recipient_handle": "nobody-at-all"})
    long = {"recipient_handle": kit.bob.handle, "message": "x" * 501}
    kit.refused(422, "validation_error", create, contact_request=long)


def approve_contact_request(kit):
    request = ask(kit).data["id"]
    kit.refused(404, "not_found", kit.user("eve").approve_contact_request, id=request)
    made = kit.bob.approve_contact_request(id=request)
    assert (made.data["id"], made.data["status"]) == (request, "approved")
    assert [row["contact_id"] for row in kit.ann.list_my_contacts().data] == [kit.bob.id]
    assert [row["contact_id"] for row in kit.bob.list_my_contacts().data] == [kit.ann.id]
    kit.refused(409, "conflict", kit.bob.approve_contact_request, id=request)


def reject_contact_request(kit):
    request = ask(kit).data["id"]
    assert kit.bob.reject_contact_request(id=request).data == {"id": request, "status": "rejected"}
    assert not kit.bob.list_my_contacts().data and not kit.bob.list_received_contact_requests().data
    kit.refused(409, "conflict", kit.bob.reject_contact_request, id=request)


def cancel_contact_request(kit):
    request = ask(kit).data["id"]
    assert kit.ann.cancel_contact_request(id=request).data == {"id": request, "status": "cancelled"}
    assert not kit.bob.list_received_contact_requests().data
    kit.refused(409, "conflict", kit.ann.cancel_contact_request, id=request)


def list_received_contact_requests(kit):
    made = []
    for number in range(3):
        friend = kit.user("friend")
        request = {"recipient_handle": kit.bob.handle, "message": f"Number {number}"}
        made.append(friend.create_contact_request(contact_request=request).data["id"])
    assert set(kit.everything(kit.bob, "list_received_contact_requests")) == set(made)
    kit.bob.reject_contact_request(id=made[0])
    assert set(kit.bob.list_received_contact_requests().ids) == set(made[1:])


def list_sent_contact_requests(kit):
    made = {}
    for status in ("pending", "approved", "rejected", "cancelled"):
        friend = kit.user("friend")
        request = kit.ann.create_contact_request(contact_request={"recipient_handle": friend.handle}).data["id"]
        made[status] = request
        if status == "approved":
            friend.approve_contact_request(id=request)
        elif status == "rejected":
            friend.reject_contact_request(id=request)
        elif status == "cancelled":
            kit.ann.cancel_contact_request(id=request)
    for status, request in made.items():
        assert kit.ann.list_sent_contact_requests(status=status).ids == [request]
    assert set(kit.ann.list_sent_contact_requests().ids) == set(made.values())
    assert set(kit.everything(kit.ann, "list_sent_contact_requests", status="all")) == set(made.values())


def list_my_contacts(kit):
    friends = {kit.user("friend") for _ in range(3)}
    for friend in friends:
        request = kit.ann.create_contact_request(contact_request={"recipient_handle": friend.handle})
        friend.approve_contact_request(id=request.data["id"])
    contacts = kit.ann.list_my_contacts(page=1, page_size=100).data
    assert {row["contact_id"]: row["user"]["handle"] for row in contacts} == {one.id: one.handle for one in friends}
    assert {row["status"] for row in contacts} == {"active"}
    assert set(kit.everything(kit.ann, "list_my_contacts")) == {row["id"] for row in contacts}


def remove_my_contact(kit):
    befriend(kit)
    assert kit.ann.remove_my_contact(handle=kit.bob.handle).data["status"] == "removed"
    assert not kit.ann.list_my_contacts().data and not kit.bob.list_my_contacts().data
    befriend(kit)
    contact = kit.ann.list_my_contacts().ids[0]
    assert kit.ann.remove_my_contact(contact_id=contact).data["status"] == "removed"
    kit.refused(404, "not_found", kit.ann.remove_my_contact, contact_id=contact)
    kit.refused(400, "bad_request", kit.ann.remove_my_contact)


def resolve_handle(kit):
    agent = kit.agent(kit.bob)
    assert kit.ann.resolve_handle(handle=f"@{kit.bob.handle.upper()}").data["type"] == "User"
    found = kit.ann.resolve_handle(handle=agent.handle).data
    # An agent outside the directory shows its name to contacts and to its own organization only.
    assert (found["name"], found["type"], found["handle"]) == (agent.handle, "Agent", agent.handle)
    kit.refused(404, "not_found", kit.ann.resolve_handle, handle="nobody-at-all")
    kit.refused(400, "validation_error", kit.ann.resolve_handle, handle="no handle/at/all")


def two_agents(kit):
    return kit.agent(kit.ann, "Asker"), kit.agent(kit.bob, "Asked")


def add_agent_contact(kit):
    asker, asked = two_agents(kit)
    made = asker.add_agent_contact(handle=asked.handle, message=None)
    assert made.status == 201 and made.data["status"] == "pending"
    kit.refused(409, "conflict", asker.add_agent_contact, handle=asked.handle)
    assert asked.add_agent_contact(handle=f"@{asker.handle}").data["status"] == "approved"
    assert [row["handle"] for row in asker.list_agent_contacts().data] == [asked.handle]
    kit.refused(404, "not_found", asker.add_agent_contact, handle="nobody-at-all")
    kit.refused(400, "bad_request", asker.add_agent_contact, handle="a/b/c d")


def list_agent_contacts(kit):
    asker, others = kit.agent(kit.ann, "Asker"), [kit.agent(kit.bob, f"Asked {n}") for n in range(3)]
    for other in others:
        asker.add_agent_contact(handle=other.handle, message="Hello")
        other.respond_to_agent_contact_request(action="approve", handle=asker.handle)
    contacts = asker.list_agent_contacts(page=1, page_size=100).data
    assert {row["handle"]: row["type"] for row in contacts} == {other.handle: "Agent" for other in others}
    assert set(kit.everything(asker, "list_agent_contacts")) == {row["id"] for row in contacts}


def remove_agent_contact(kit):
    asker, asked = two_agents(kit)
    for by in ("handle", "contact_id"):
        asker.add_agent_contact(handle=asked.handle)
        asked.add_agent_contact(handle=asker.handle)
        named = asked.handle if by == "handle" else asker.list_agent_contacts().ids[0]
        assert asker.remove_agent_contact(**{by: named}).data["status"] == "removed"
        assert not asker.list_agent_contacts().data and not asked.list_agent_contacts().data
    kit.refused(404, "not_found", asker.remove_agent_contact, handle=asked.handle)


def list_agent_contact_requests(kit):
    asker, asked = two_agents(kit)
    request = asker.add_agent_contact(handle=asked.handle, message="Hello").data["id"]
    got = asked.list_agent_contact_requests(page=1, page_size=100)
    (received,) = got.data["received"]
    assert (received["id"], received["from_handle"], received["message"]) == (request, asker.handle, "Hello")
    assert got.body["metadata"]["received"] == {"total": 1, "total_pages": 1} and not got.data["sent"]
    (sent,) = asker.list_agent_contact_requests().data["sent"]
    assert (sent["id"], sent["to_handle"], sent["status"]) == (request, asked.handle, "pending")
    asked.respond_to_agent_contact_request(action="reject", request_id=request)
    assert not asker.list_agent_contact_requests().data["sent"]
    for status in ("rejected", "all"):
        (sent,) = asker.list_agent_contact_requests(sent_status=status).data["sent"]
        assert (sent["id"], sent["status"]) == (request, "rejected")


def respond_to_agent_contact_request(kit):
    asker, asked = two_agents(kit)
    ends = {"reject": (asked, "rejected"), "cancel": (asker, "cancelled"), "approve": (asked, "approved")}
    for action, (who, status) in ends.items():
        request = asker.add_agent_contact(handle=asked.handle).data["id"]
        respond = who.respond_to_agent_contact_request
        assert respond(action=action, request_id=request).data == {"id": request, "status": status}
        kit.refused(409, "conflict", respond, action=action, request_id=request)
    kit.refused(404, "not_found", respond, action="approve", request_id=NOBODY)
