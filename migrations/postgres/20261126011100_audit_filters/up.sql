-- Admins filter the audit log of their organization by action, actor, and subject.
CREATE INDEX audit_of_organization_action ON audit (organization_id, action, at DESC, id DESC);
CREATE INDEX audit_of_organization_actor ON audit (organization_id, actor_id, at DESC, id DESC);
CREATE INDEX audit_of_organization_subject ON audit (organization_id, subject_id, at DESC, id DESC);
