"""What the recipes begin with: people, a room, a message, a contact."""

NOBODY = "00000000-0000-4000-8000-000000000000"


def cast(kit):
    """Ann, her agent, and a room of Ann's with both in it."""
    agent = kit.agent(kit.ann)
    return kit.ann, agent, kit.room(kit.ann, agent)


def tell(sender, room, receiver, content="How is the weather?"):
    """A message that mentions the receiver; its answer."""
    send = sender.send_my_chat_message if sender.kit.is_human(sender) else sender.create_agent_chat_message
    message = {"content": content, "mentions": [{"id": receiver.id, "handle": receiver.handle, "name": "X"}]}
    return send(chat_id=room, message=message)


def ask(kit, message="Let us talk"):
    """A request from Ann to Bob, still open; its id."""
    request = {"recipient_handle": f"@{kit.bob.handle}", "message": message}
    return kit.ann.create_contact_request(contact_request=request)


def befriend(kit):
    kit.bob.approve_contact_request(id=ask(kit).data["id"])
