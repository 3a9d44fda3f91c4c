//! The actions that the audit log records.

use crate::words::words;

words! {
    /// The action of an entry.
    AuditAction {
        /// A user was made.
        UserCreated = "user.created",
        /// The operator deleted a user; keys, sessions and memberships ended with the user.
        UserDeleted = "user.deleted",
        /// An agent was registered.
        AgentRegistered = "agent.registered",
        /// The operator said who may find an agent.
        AgentMarked = "agent.marked",
        /// An owner changed an agent; the detail names the change, and the value if it decides who reaches the
        /// agent.
        AgentUpdated = "agent.updated",
        /// An agent was paused; the detail is the reason.
        AgentPaused = "agent.paused",
        /// An agent was resumed.
        AgentResumed = "agent.resumed",
        /// An agent or an organization was given a webhook, another URL for it, or other events; the detail is the host.
        WebhookSet = "webhook.set",
        /// The webhook of an agent or an organization was removed.
        WebhookRemoved = "webhook.removed",
        /// The secret of a webhook was replaced; the detail says whether earlier ones were revoked.
        WebhookSecretRotated = "webhook.secret_rotated",
        /// A webhook was enabled again.
        WebhookEnabled = "webhook.enabled",
        /// The server disabled a webhook; the detail is the reason.
        WebhookDisabled = "webhook.disabled",
        /// A delivery to a webhook was sent again, or sooner; the detail is its id.
        WebhookResent = "webhook.resent",
        /// A caller has made a configuration of push notifications for a task at an agent, or has given it another receiver; the
        /// detail is the host.
        PushSet = "push.set",
        /// A configuration of push notifications was removed by its caller, or by the server, which says why in the detail.
        PushRemoved = "push.removed",
        /// A user has made a notification channel; the detail is its kind, and its host if it has one.
        NotificationChannelCreated = "notification.channel_created",
        /// A user has changed a notification channel, or has switched it on or off; the detail is its kind.
        NotificationChannelChanged = "notification.channel_changed",
        /// A user has removed a notification channel; the detail is its kind.
        NotificationChannelRemoved = "notification.channel_removed",
        /// The server has switched a notification channel off; the detail is its kind, and the reason.
        NotificationChannelDisabled = "notification.channel_disabled",
        /// An agent was deleted; its keys and memberships ended with it.
        AgentDeleted = "agent.deleted",
        /// The operator disabled a user or an agent.
        AccountDisabled = "account.disabled",
        /// The operator enabled a user or an agent.
        AccountEnabled = "account.enabled",
        /// A key was made.
        KeyCreated = "key.created",
        /// A key was revoked.
        KeyRevoked = "key.revoked",
        /// A user set a password; what the one before had opened ended with it.
        PasswordSet = "password.set",
        /// The operator issued a token with which a user may set a password.
        PasswordResetIssued = "password.reset_issued",
        /// The operator issued a code with which a user may log in once.
        LoginCodeIssued = "login_code.issued",
        /// A user turned a second factor on.
        SecondFactorEnabled = "second_factor.enabled",
        /// The second factor of a user was removed, by the user or the operator.
        SecondFactorRemoved = "second_factor.removed",
        /// A user has used a recovery code; the detail has the number of those that are left.
        RecoveryCodeUsed = "second_factor.recovery_code_used",
        /// A user replaced the recovery codes.
        RecoveryCodesRenewed = "second_factor.recovery_codes_renewed",
        /// A user added a passkey; the detail is its name.
        PasskeyAdded = "passkey.added",
        /// A passkey was removed, by its user or the operator; the detail is its name.
        PasskeyRemoved = "passkey.removed",
        /// A user was linked to an identity at a provider; the detail is the provider's URL.
        IdentityLinked = "identity.linked",
        /// The link of a user to a provider was removed; the detail is the provider's URL.
        IdentityUnlinked = "identity.unlinked",
        /// The operator issued an access token, with which one may act as the user; the detail says until
        /// when.
        TokenIssued = "token.issued",
        /// An organization was given a plan.
        PlanSet = "plan.set",
        /// The operator made an organization.
        OrganizationCreated = "organization.created",
        /// The operator deleted an organization.
        OrganizationDeleted = "organization.deleted",
        /// An organization was given another name.
        OrganizationRenamed = "organization.renamed",
        /// An organization was paused; the detail is the reason.
        OrganizationPaused = "organization.paused",
        /// An organization was resumed.
        OrganizationResumed = "organization.resumed",
        /// An organization was given another limit of hops; the detail is the number, or `none`.
        OrganizationMaxHopsSet = "organization.max_hops_set",
        /// An organization was given another limit of pairs; the detail is the number, or `none`.
        OrganizationMaxPairMessagesSet = "organization.max_pair_messages_set",
        /// An organization was given another policy for messages of others; the detail is its word.
        OrganizationForeignSet = "organization.foreign_set",
        /// A budget of an organization was set; the detail is its name with the amount, or with `none`.
        OrganizationBudgetSet = "organization.budget_set",
        /// A member was given a role.
        RoleSet = "member.role_set",
        /// A user entered an organization.
        MemberJoined = "member.joined",
        /// A member left an organization.
        MemberLeft = "member.left",
        /// A member was removed from an organization.
        MemberRemoved = "member.removed",
        /// An invitation was created.
        InvitationCreated = "invitation.created",
        /// An invitation was taken back.
        InvitationRevoked = "invitation.revoked",
        /// A chat was made.
        ChatCreated = "chat.created",
        /// A chat was given another title.
        ChatRenamed = "chat.renamed",
        /// A chat was given another default deadline; the detail is the seconds, or `none`.
        ChatDeadlineSet = "chat.deadline_set",
        /// A chat was given another limit of hops; the detail is the number, or `none`.
        ChatMaxHopsSet = "chat.max_hops_set",
        /// A chat was deleted.
        ChatDeleted = "chat.deleted",
        /// A transcript of a chat was made; the detail is its format, and the sequence of its newest message.
        ChatExported = "chat.exported",
        /// The agents of a chat were stopped.
        ChatStopped = "chat.stopped",
        /// The agents of a chat play again.
        ChatPlayed = "chat.played",
        /// An owner interrupted an agent.
        AgentInterrupted = "agent.interrupted",
        /// A participant was added to a chat.
        ParticipantAdded = "participant.added",
        /// A participant was removed from a chat.
        ParticipantRemoved = "participant.removed",
        /// A participant was given another role, which is the detail.
        ParticipantRoleSet = "participant.role_set",
        /// A participant left a chat.
        ParticipantLeft = "participant.left",
        /// A user logged in, which opened a session; the detail has the address, and the provider, the second factor, or the
        /// passkey if there was one.
        LoginSucceeded = "login.succeeded",
        /// Log-ins with wrong passwords or codes failed, for an account or an unknown name, or log-ins at a provider or with
        /// passkeys were refused; the detail has their number.
        LoginFailed = "login.failed",
        /// A refresh token that had been exchanged before was presented; its session ended.
        TokenReused = "session.token_reused",
        /// A user logged out, or ended another session, or logged out at a provider.
        SessionEnded = "session.ended",
        /// A sender edited a message.
        MessageEdited = "message.edited",
        /// A sender deleted a message.
        MessageDeleted = "message.deleted",
        /// The operator erased texts of a user in a chat; the place is the chat, the detail is their number.
        MessageErased = "message.erased",
        /// The operator placed a legal hold on a chat or an organization; the detail is the reason.
        LegalHoldPlaced = "legal_hold.placed",
        /// The operator released a legal hold.
        LegalHoldReleased = "legal_hold.released",
        /// A user answered something that waited for a human; the place is the chat.
        AttentionAnswered = "attention.answered",
        /// A user dismissed something that waited for a human; the place is the chat.
        AttentionDismissed = "attention.dismissed",
        /// A user cancelled a text that was to be sent later; the detail is its id.
        ReminderCancelled = "reminder.cancelled",
        /// A file was uploaded to a chat; the detail is its id and size.
        FileUploaded = "file.uploaded",
        /// Work of an agent was offered again.
        WorkRetried = "work.retried",
        /// Work of an agent was taken out of the queue; the detail is the reason.
        WorkDeadLettered = "work.dead_lettered",
        /// Work of an agent was sent to another one with a new message, which the detail names.
        WorkReassigned = "work.reassigned",
        /// Work of an agent was sent to it again with a new message, which the detail names.
        WorkSentAgain = "work.sent_again",
        /// The operator exported everything that the store holds.
        StoreExported = "store.exported",
    }
}

impl AuditAction {
    /// Returns whether it concerns a room: the detail of its entry may then be what somebody wrote, such as a title or a
    /// reason.
    pub fn concerns_room(self) -> bool {
        ["attention.", "chat.", "file.", "legal_hold.", "message.", "participant.", "reminder.", "work."]
            .iter()
            .any(|area| self.as_str().starts_with(area))
    }
}
