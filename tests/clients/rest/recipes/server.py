"""The server itself, in thenvoi-client-rest."""


def get_version(kit):
    body = kit.ann.get_version().body
    assert all(isinstance(body[field], str) for field in ("version", "commit", "built_at"))


def health_check(kit):
    body = kit.ann.health_check().body
    assert body["status"] and body["version"] and body["services"]["database"]["healthy"] is True


def authentication(kit):
    body = kit.ann.authentication().body
    assert all(body[field] for field in ("status", "message", "auth_type", "api_version"))
    kit.refused(401, "unauthorized", kit.caller("thnv_u_1_none").authentication)
