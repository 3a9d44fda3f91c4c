-- The audit log is filtered by actor, subject, and action; that of all organizations by the operator only.
CREATE INDEX audit_of_actor ON audit (actor_id, at DESC, id DESC);
CREATE INDEX audit_of_subject ON audit (subject_id, at DESC, id DESC);
CREATE INDEX audit_of_action ON audit (action, at DESC, id DESC);
CREATE INDEX audit_of_organization_action ON audit (organization_id, action, at DESC, id DESC);
CREATE INDEX audit_of_organization_actor ON audit (organization_id, actor_id, at DESC, id DESC);
CREATE INDEX audit_of_organization_subject ON audit (organization_id, subject_id, at DESC, id DESC);
