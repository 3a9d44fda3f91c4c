//! The tables after all migrations; a test compares the two.

diesel::table! {
    organizations (id) {
        id -> Binary,
        name -> Text,
        created_at -> BigInt,
        plan -> Text,
        content_bytes -> BigInt,
        deleted_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    users (id) {
        id -> Binary,
        organization_id -> Binary,
        handle -> Text,
        email -> Text,
        first_name -> Text,
        last_name -> Text,
        created_at -> BigInt,
        updated_at -> BigInt,
        role -> Text,
        organization_role -> Text,
        own_organization_id -> Nullable<Binary>,
        disabled_at -> Nullable<BigInt>,
        deleted_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    invitations (id) {
        id -> Binary,
        organization_id -> Binary,
        role -> Text,
        email -> Nullable<Text>,
        digest -> Binary,
        created_by -> Nullable<Binary>,
        created_at -> BigInt,
        expires_at -> BigInt,
        accepted_at -> Nullable<BigInt>,
        accepted_by -> Nullable<Binary>,
        revoked_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    agents (id) {
        id -> Binary,
        owner_id -> Binary,
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
        created_at -> BigInt,
        updated_at -> BigInt,
        deleted_at -> Nullable<BigInt>,
        is_global -> Bool,
        disabled_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    api_keys (id) {
        id -> Binary,
        digest -> Binary,
        user_id -> Nullable<Binary>,
        agent_id -> Nullable<Binary>,
        created_at -> BigInt,
        revoked_at -> Nullable<BigInt>,
        name -> Nullable<Text>,
        prefix -> Nullable<Text>,
        expires_at -> Nullable<BigInt>,
        last_used_at -> Nullable<BigInt>,
        read_only -> Bool,
        only_chat_id -> Nullable<Binary>,
        only_agent_id -> Nullable<Binary>,
    }
}

diesel::table! {
    audit (id) {
        id -> Binary,
        at -> BigInt,
        organization_id -> Nullable<Binary>,
        actor_kind -> Text,
        actor_id -> Nullable<Binary>,
        action -> Text,
        subject_kind -> Text,
        subject_id -> Binary,
        place_kind -> Nullable<Text>,
        place_id -> Nullable<Binary>,
        detail -> Nullable<Text>,
        actor_name -> Nullable<Text>,
        subject_name -> Nullable<Text>,
        place_name -> Nullable<Text>,
        number -> Nullable<BigInt>,
        digest -> Nullable<Binary>,
    }
}

diesel::table! {
    audit_chain (id) {
        id -> BigInt,
        number -> BigInt,
        digest -> Binary,
    }
}

diesel::table! {
    change_log (id) {
        id -> BigInt,
        kind -> Text,
        subject_id -> Binary,
        changed_at -> BigInt,
    }
}

diesel::table! {
    passwords (user_id) {
        user_id -> Binary,
        hash -> Text,
        changed_at -> BigInt,
    }
}

diesel::table! {
    sessions (id) {
        id -> Binary,
        user_id -> Binary,
        family -> Binary,
        token -> Binary,
        created_at -> BigInt,
        used_at -> BigInt,
        expires_at -> BigInt,
    }
}

diesel::table! {
    resets (user_id) {
        user_id -> Binary,
        token -> Binary,
        expires_at -> BigInt,
    }
}

diesel::table! {
    chats (id) {
        id -> Binary,
        title -> Nullable<Text>,
        task_id -> Nullable<Binary>,
        kind -> Text,
        status -> Text,
        last_sequence -> BigInt,
        created_at -> BigInt,
        updated_at -> BigInt,
        last_message_at -> Nullable<BigInt>,
        deleted_at -> Nullable<BigInt>,
        organization_id -> Nullable<Binary>,
        deleted_messages -> BigInt,
        titled_by -> Nullable<Binary>,
        content_bytes -> BigInt,
    }
}

diesel::table! {
    participants (chat_id, participant_id) {
        chat_id -> Binary,
        participant_id -> Binary,
        kind -> Text,
        role -> Text,
        status -> Text,
        chat_created_at -> BigInt,
        joined_at -> BigInt,
        left_at -> Nullable<BigInt>,
        account_id -> Binary,
    }
}

diesel::table! {
    messages (id) {
        id -> Binary,
        chat_id -> Binary,
        sequence -> BigInt,
        kind -> Text,
        content -> Text,
        sender_id -> Binary,
        sender_kind -> Text,
        sender_name -> Text,
        mentions -> Text,
        metadata -> Nullable<Text>,
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    deliveries (message_id, agent_id) {
        message_id -> Binary,
        agent_id -> Binary,
        chat_id -> Binary,
        sequence -> BigInt,
        addressed -> Bool,
        status -> Text,
        current_attempt -> Integer,
        delivered_at -> Nullable<BigInt>,
        processed_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    attempts (message_id, agent_id, number) {
        message_id -> Binary,
        agent_id -> Binary,
        number -> Integer,
        status -> Text,
        started_at -> BigInt,
        completed_at -> Nullable<BigInt>,
        error -> Nullable<Text>,
    }
}

diesel::table! {
    contact_requests (id) {
        id -> Binary,
        requester_id -> Binary,
        requester_kind -> Text,
        requester_user_id -> Binary,
        recipient_id -> Binary,
        recipient_kind -> Text,
        recipient_user_id -> Binary,
        message -> Nullable<Text>,
        status -> Text,
        created_at -> BigInt,
        responded_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    contacts (id) {
        id -> Binary,
        owner_id -> Binary,
        owner_kind -> Text,
        contact_id -> Binary,
        contact_kind -> Text,
        request_id -> Nullable<Binary>,
        created_at -> BigInt,
    }
}

diesel::table! {
    deletion_jobs (agent_id) {
        agent_id -> Binary,
        requested_at -> BigInt,
    }
}

diesel::table! {
    idempotency_records (sender_id, operation, place_id, key) {
        sender_id -> Binary,
        operation -> Text,
        place_id -> Binary,
        key -> Text,
        fingerprint -> Binary,
        record_id -> Binary,
        answered_at -> BigInt,
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
        id -> Binary,
        organization_id -> Binary,
        source_id -> Nullable<Binary>,
        subject_id -> Nullable<Binary>,
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
        created_at -> BigInt,
        updated_at -> BigInt,
    }
}

diesel::table! {
    secrets (name) {
        name -> Text,
        secret -> Binary,
    }
}

diesel::table! {
    imports (one) {
        one -> Integer,
        begun_at -> BigInt,
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
