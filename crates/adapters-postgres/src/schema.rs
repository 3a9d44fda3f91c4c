//! The tables after all migrations; a test compares the two.

diesel::table! {
    organizations (id) {
        id -> Uuid,
        name -> Text,
        created_at -> Timestamptz,
        plan -> Text,
        content_bytes -> BigInt,
        deleted_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    users (id) {
        id -> Uuid,
        organization_id -> Uuid,
        handle -> Text,
        email -> Text,
        first_name -> Text,
        last_name -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        role -> Text,
        organization_role -> Text,
        own_organization_id -> Nullable<Uuid>,
        disabled_at -> Nullable<Timestamptz>,
        deleted_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    invitations (id) {
        id -> Uuid,
        organization_id -> Uuid,
        role -> Text,
        email -> Nullable<Text>,
        digest -> Bytea,
        created_by -> Nullable<Uuid>,
        created_at -> Timestamptz,
        expires_at -> Timestamptz,
        accepted_at -> Nullable<Timestamptz>,
        accepted_by -> Nullable<Uuid>,
        revoked_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    agents (id) {
        id -> Uuid,
        owner_id -> Uuid,
        name -> Text,
        handle -> Text,
        description -> Text,
        kind -> Text,
        model_type -> Nullable<Text>,
        bio -> Nullable<Text>,
        tags -> Text,
        listed_in_directory -> Bool,
        registry_access -> Bool,
        shared_with_organization -> Bool,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        deleted_at -> Nullable<Timestamptz>,
        is_global -> Bool,
        disabled_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    api_keys (id) {
        id -> Uuid,
        digest -> Bytea,
        user_id -> Nullable<Uuid>,
        agent_id -> Nullable<Uuid>,
        created_at -> Timestamptz,
        revoked_at -> Nullable<Timestamptz>,
        name -> Nullable<Text>,
        prefix -> Nullable<Text>,
        expires_at -> Nullable<Timestamptz>,
        last_used_at -> Nullable<Timestamptz>,
        read_only -> Bool,
        only_chat_id -> Nullable<Uuid>,
        only_agent_id -> Nullable<Uuid>,
    }
}

diesel::table! {
    audit (id) {
        id -> Uuid,
        at -> Timestamptz,
        organization_id -> Nullable<Uuid>,
        actor_kind -> Text,
        actor_id -> Nullable<Uuid>,
        action -> Text,
        subject_kind -> Text,
        subject_id -> Uuid,
        place_kind -> Nullable<Text>,
        place_id -> Nullable<Uuid>,
        detail -> Nullable<Text>,
        actor_name -> Nullable<Text>,
        subject_name -> Nullable<Text>,
        place_name -> Nullable<Text>,
        number -> Nullable<BigInt>,
        digest -> Nullable<Bytea>,
    }
}

diesel::table! {
    audit_chain (id) {
        id -> BigInt,
        number -> BigInt,
        digest -> Bytea,
    }
}

diesel::table! {
    change_log (id) {
        id -> BigInt,
        kind -> Text,
        subject_id -> Uuid,
        changed_at -> Timestamptz,
    }
}

diesel::table! {
    passwords (user_id) {
        user_id -> Uuid,
        hash -> Text,
        changed_at -> Timestamptz,
    }
}

diesel::table! {
    sessions (id) {
        id -> Uuid,
        user_id -> Uuid,
        family -> Bytea,
        token -> Bytea,
        created_at -> Timestamptz,
        used_at -> Timestamptz,
        expires_at -> Timestamptz,
    }
}

diesel::table! {
    resets (user_id) {
        user_id -> Uuid,
        token -> Bytea,
        expires_at -> Timestamptz,
    }
}

diesel::table! {
    chats (id) {
        id -> Uuid,
        title -> Nullable<Text>,
        task_id -> Nullable<Uuid>,
        kind -> Text,
        status -> Text,
        last_sequence -> BigInt,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        last_message_at -> Nullable<Timestamptz>,
        deleted_at -> Nullable<Timestamptz>,
        organization_id -> Nullable<Uuid>,
        deleted_messages -> BigInt,
        titled_by -> Nullable<Uuid>,
        content_bytes -> BigInt,
    }
}

diesel::table! {
    participants (chat_id, participant_id) {
        chat_id -> Uuid,
        participant_id -> Uuid,
        kind -> Text,
        role -> Text,
        status -> Text,
        chat_created_at -> Timestamptz,
        joined_at -> Timestamptz,
        left_at -> Nullable<Timestamptz>,
        account_id -> Uuid,
    }
}

diesel::table! {
    messages (id) {
        id -> Uuid,
        chat_id -> Uuid,
        sequence -> BigInt,
        kind -> Text,
        content -> Text,
        sender_id -> Uuid,
        sender_kind -> Text,
        sender_name -> Text,
        mentions -> Text,
        metadata -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    deliveries (message_id, agent_id) {
        message_id -> Uuid,
        agent_id -> Uuid,
        chat_id -> Uuid,
        sequence -> BigInt,
        addressed -> Bool,
        status -> Text,
        current_attempt -> Integer,
        delivered_at -> Nullable<Timestamptz>,
        processed_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    attempts (message_id, agent_id, number) {
        message_id -> Uuid,
        agent_id -> Uuid,
        number -> Integer,
        status -> Text,
        started_at -> Timestamptz,
        completed_at -> Nullable<Timestamptz>,
        error -> Nullable<Text>,
    }
}

diesel::table! {
    contact_requests (id) {
        id -> Uuid,
        requester_id -> Uuid,
        requester_kind -> Text,
        requester_user_id -> Uuid,
        recipient_id -> Uuid,
        recipient_kind -> Text,
        recipient_user_id -> Uuid,
        message -> Nullable<Text>,
        status -> Text,
        created_at -> Timestamptz,
        responded_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    contacts (id) {
        id -> Uuid,
        owner_id -> Uuid,
        owner_kind -> Text,
        contact_id -> Uuid,
        contact_kind -> Text,
        request_id -> Nullable<Uuid>,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    deletion_jobs (agent_id) {
        agent_id -> Uuid,
        requested_at -> Timestamptz,
    }
}

diesel::table! {
    idempotency_records (sender_id, operation, place_id, key) {
        sender_id -> Uuid,
        operation -> Text,
        place_id -> Uuid,
        key -> Text,
        fingerprint -> Bytea,
        record_id -> Uuid,
        answered_at -> Timestamptz,
        deleted_mentions -> Nullable<Text>,
    }
}

diesel::table! {
    plans (name) {
        name -> Text,
        agents -> Nullable<BigInt>,
        chats -> Nullable<BigInt>,
        participants -> Nullable<BigInt>,
        messages -> Nullable<BigInt>,
        human_interface -> Bool,
        memories -> Bool,
        bytes -> Nullable<BigInt>,
    }
}

diesel::table! {
    memories (id) {
        id -> Uuid,
        organization_id -> Uuid,
        source_id -> Nullable<Uuid>,
        subject_id -> Nullable<Uuid>,
        subject_kind -> Nullable<Text>,
        system -> Text,
        kind -> Text,
        segment -> Text,
        scope -> Text,
        status -> Text,
        folded -> Text,
        content -> Text,
        thought -> Text,
        metadata -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    secrets (name) {
        name -> Text,
        secret -> Bytea,
    }
}

diesel::table! {
    nodes (id) {
        id -> Uuid,
        entered_at -> Timestamptz,
        lease_until -> Timestamptz,
        ended_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    agent_sockets (agent_id) {
        agent_id -> Uuid,
        node_id -> Uuid,
        number -> BigInt,
        since -> Timestamptz,
        lost_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    user_nodes (user_id, node_id) {
        user_id -> Uuid,
        node_id -> Uuid,
        since -> Timestamptz,
    }
}

diesel::table! {
    imports (one) {
        one -> Integer,
        begun_at -> Timestamptz,
    }
}

diesel::joinable!(agents -> users (owner_id));
diesel::joinable!(participants -> chats (chat_id));
diesel::joinable!(passwords -> users (user_id));
diesel::joinable!(sessions -> users (user_id));
diesel::allow_tables_to_appear_in_same_query!(
    organizations,
    plans,
    users,
    agents,
    api_keys,
    passwords,
    sessions,
    resets,
    chats,
    participants,
    messages,
    deliveries,
    attempts,
    deletion_jobs,
    memories,
    contact_requests,
    contacts
);
