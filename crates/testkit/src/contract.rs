//! The contract of every store, written once and run on each.
//!
//! `contract_tests!(make)` in a test file expands to one test a case; `make` is an expression
//! that gives fresh [`Stores`](crate::Stores) and whatever must stay alive with them.

pub mod accounts;
pub mod administration;
pub mod agent_pauses;
pub mod agents;
pub mod answers;
pub mod archives;
pub mod attention;
pub mod audit;
pub mod boards;
pub mod browser_sessions;
pub mod budgets;
pub mod bulk_deletions;
pub mod callers;
pub mod causes;
pub mod change_log;
pub mod chat_lists;
pub mod chats;
pub mod claims;
pub mod contacts;
pub mod control;
pub mod dead_letters;
pub mod deadlines;
pub mod deliveries;
pub mod doors;
pub mod edits;
pub mod effects;
pub mod files;
pub mod foreign;
pub mod history;
pub mod holds;
pub mod identities;
pub mod invitations;
pub mod key_repeats;
pub mod keys;
pub mod legal_holds;
pub mod logins;
pub mod members;
pub mod memories;
pub mod messages;
pub mod moves;
pub mod nodes;
pub mod notifications;
pub mod operator;
pub mod organization_webhooks;
pub mod participant_roles;
pub mod passkeys;
pub mod pauses;
pub mod peers;
pub mod plans;
pub mod pushes;
pub mod read_marks;
pub mod receipts;
pub mod redelivery;
pub mod registering;
pub mod releases;
pub mod reminder_lists;
pub mod reminders;
pub mod resends;
pub mod retention;
pub mod search;
pub mod second_factors;
pub mod secrets;
pub mod status;
pub mod task_rules;
pub mod tasks;
pub mod usage;
pub mod waiting;
pub mod webhook_order;
pub mod webhook_races;
pub mod webhooks;
pub mod work;
pub mod work_summary;

/// Expands to one `#[tokio::test]` for every case of the contract.
#[macro_export]
macro_rules! contract_tests {
    ($make:expr) => {
        $crate::contract_tests! { @area $make, accounts:
            handles_and_addresses_are_taken_once, only_an_empty_store_gets_a_first_user,
            names_are_unique_and_slugs_are_numbered, keys_stand_for_their_holders, agents_are_listed_newest_first,
            agents_are_listed_as_wanted, paging_by_name_misses_no_unrenamed_agent,
        }
        $crate::contract_tests! { @area $make, keys:
            keys_are_listed_newest_first, keys_keep_their_limits, a_key_expires, new_keys_expire_by_default, a_revoked_key_is_rejected,
            the_number_of_keys_is_limited, an_agent_has_one_key, the_time_of_last_use_is_stored,
        }
        $crate::contract_tests! { @area $make, doors:
            the_last_use_of_a_door_is_stored, failures_stay_until_the_next_one, processes_share_the_uses_of_doors,
            failures_leave_the_time_of_the_last_call,
            an_ended_key_is_a_failure_of_its_agent, the_end_of_a_socket_is_a_failure, a_deleted_agent_has_no_doors,
        }
        $crate::contract_tests! { @area $make, callers:
            local_changes_apply_to_the_next_request, remote_changes_apply_after_log_read,
            remote_disabling_applies_after_log_read, remote_revocations_apply_after_log_read,
            remote_changes_apply_while_the_log_is_stuck, cached_credentials_still_expire,
            a_clock_jump_expires_no_cache_entry,
        }
        $crate::contract_tests! { @area $make, audit:
            changes_are_audited, refused_changes_are_not_audited, entries_stay_in_their_organization,
            only_admins_read_the_log, entries_keep_the_names_of_their_time, edits_are_audited,
            entries_are_filtered, sealed_entries_form_a_chain, many_sealers_make_one_chain,
        }
        $crate::contract_tests! { @area $make, logins:
            the_right_password_logs_in, a_used_up_account_answers_like_a_wrong_password, an_outdated_hash_is_replaced, a_refresh_token_works_once,
            concurrent_refreshes_with_one_token, logging_out_ends_the_session, a_password_replaced_meanwhile_opens_no_session, a_changed_password_ends_open_sessions,
            users_list_and_end_their_sessions, sensitive_changes_require_the_password, a_reset_token_works_once, old_sessions_are_forgotten, a_disabled_user_cannot_log_in,
        }
        $crate::contract_tests! { @area $make, second_factors:
            a_second_factor_counts_once_it_is_confirmed, a_code_works_once, concurrent_log_ins_with_one_code,
            a_recovery_code_works_once, a_second_factor_that_changes_meanwhile_opens_no_session, a_reset_needs_a_code,
            a_reset_does_not_use_a_code_twice, changes_of_a_second_factor_need_password_and_code,
            other_ways_in_need_no_code, a_recovery_code_is_no_guess, a_second_factor_ends_with_its_user,
        }
        $crate::contract_tests! { @area $make, passkeys:
            a_passkey_logs_in, a_challenge_works_once, concurrent_log_ins_with_one_challenge,
            a_signature_counter_never_goes_back, passkeys_need_password_and_code, a_removed_passkey_ends_its_sessions,
            passkeys_outlive_the_password, a_user_has_few_passkeys, passkeys_end_with_their_user, passkeys_can_be_off,
        }
        $crate::contract_tests! { @area $make, browser_sessions:
            a_browsers_session_continues_with_the_same_token, a_programs_session_is_not_a_browsers,
            the_end_of_a_browsers_session, a_key_opens_a_session_that_ends_with_it, a_limited_key_opens_no_session,
            a_disabled_user_has_no_browser_session,
        }
        $crate::contract_tests! { @area $make, identities:
            a_person_of_a_provider_has_one_account, accounts_are_linked_by_a_verified_address,
            claims_decide_the_organization_and_the_role, a_session_of_a_provider_is_not_prolonged,
            a_log_in_belongs_to_its_browser,
            a_logout_at_the_provider_ends_sessions, a_provider_does_not_let_disabled_users_in, a_log_in_code_works_once,
            concurrent_log_ins_of_one_person,
        }
        $crate::contract_tests! { @area $make, administration:
            all_accounts_are_listed_by_handle, all_chats_are_listed_newest_first, a_disabled_account_is_rejected_everywhere,
            the_time_of_disabling_is_stored, a_disabled_account_is_not_a_peer, a_deleted_user_is_found_nowhere,
            the_last_admin_of_members_is_not_deleted, an_organization_without_members_is_deleted,
        }
        $crate::contract_tests! { @area $make, operator:
            only_administrators_are_operators, operators_disable_accounts, operators_list_all_accounts,
            operators_list_all_disconnects, operators_list_agents_with_flagged_work,
            operators_list_all_organizations,
            operators_assign_plans,
            operators_revoke_keys,
        }
        $crate::contract_tests! { @area $make, registering:
            a_registered_user_is_logged_in, a_guest_registers_into_the_organization, the_operator_decides_who_may_register,
        }
        $crate::contract_tests! { @area $make, change_log:
            what_ends_is_logged, what_callers_carry_is_logged, who_leaves_a_room_is_logged,
            a_reader_of_the_log_misses_nothing, old_entries_are_forgotten,
        }
        $crate::contract_tests! { @area $make, agents:
            what_is_changed_of_an_agent_is_read_again, a_deleted_agent_leaves_nothing_open,
            the_rooms_of_a_deleted_agent_pass_on, the_successor_of_an_owner_follows_the_rule, a_deleted_agent_makes_nothing_more,
            what_ends_with_an_agent_is_told_in_order,
            work_is_erased_little_by_little,
            the_operator_marks_agents, a_profile_is_changed_in_parts,
        }
        $crate::contract_tests! { @area $make, memories:
            stored_memories_are_read_unchanged, memories_stay_in_their_organization,
            lists_of_memories_are_narrowed, humans_read_what_concerns_them, private_memories_are_deleted_with_their_agent,
            heavy_memories_end_a_page_early,
        }
        $crate::contract_tests! { @area $make, plans:
            exactly_as_many_agents_as_the_plan_allows, exactly_as_many_rooms_as_the_plan_allows,
            exactly_as_many_participants_as_the_plan_allows, exactly_as_many_messages_as_the_plan_allows,
            stored_bytes_are_counted_and_limited,
            memories_count_towards_the_bytes_of_their_organization,
            configured_plans_replace_all_but_those_in_use, organizations_are_named_once,
        }
        $crate::contract_tests! { @area $make, invitations:
            an_invitation_admits_one_guest_once, an_open_invitation_admits_only_its_addressee,
            concurrent_guests_with_one_token_admit_one, only_admins_manage_invitations,
            invitations_are_listed_newest_first, the_number_of_open_invitations_is_limited,
        }
        $crate::contract_tests! { @area $make, members:
            an_organization_never_lacks_an_admin, only_admins_assign_roles, organizations_are_renamed_once,
            members_are_listed_oldest_first, members_show_when_they_joined, a_leaving_member_returns_to_their_own_organization,
        }
        $crate::contract_tests! { @area $make, moves:
            an_invitation_moves_whoever_accepts_it, agents_of_a_moving_user_must_fit_the_plan,
            as_many_users_move_in_as_the_plan_allows, a_moved_user_no_longer_sees_the_old_organization,
            tokens_end_with_a_move, invitations_end_with_the_membership_of_their_maker,
            the_last_admins_cannot_all_move_at_once, records_made_during_a_move_belong_to_one_organization,
            moves_are_audited,
        }
        $crate::contract_tests! { @area $make, archives:
            an_import_is_marked_until_it_has_ended,
            exported_rows_are_imported_unchanged, rows_of_another_store_are_imported_unchanged,
            a_snapshot_stays_as_it_was, rows_are_never_changed, rows_agree_on_who_is_mentioned,
        }
        $crate::contract_tests! { @area $make, status: the_status_summarizes_the_store }
        $crate::contract_tests! { @area $make, work_summary:
            a_summary_counts_what_is_listed, errors_are_counted_without_their_numbers, a_summary_tells_that_it_is_cut,
        }
        $crate::contract_tests! { @area $make, work:
            open_work_is_listed_oldest_first, work_is_narrowed, flags_are_found_as_they_are_shown,
            the_work_of_agents_is_counted, the_last_disconnect_is_shown_with_the_work, the_newest_connections_are_kept, an_interrupted_attempt_is_no_work,
            work_is_for_those_who_answer_for_it, a_text_that_is_gone_is_no_work,
        }
        $crate::contract_tests! { @area $make, dead_letters:
            a_message_is_dead_after_the_last_attempt, a_crash_in_the_last_attempt_ends_in_a_dead_letter,
            a_lower_limit_holds_from_the_next_attempt, retried_work_is_offered_as_if_it_were_new,
            work_that_has_moved_on_is_not_changed, only_the_responsible_change_work, senders_take_back_what_they_have_sent,
            work_is_changed_by_filter, what_the_operator_changes_is_announced,
        }
        $crate::contract_tests! { @area $make, deadlines:
            a_missed_deadline_is_announced_once, a_deadline_that_is_met_is_not_announced,
            many_servers_announce_a_missed_deadline_once, texts_are_checked_by_deadline,
            a_room_gives_its_texts_a_deadline, a_missed_deadline_is_announced_in_every_room,
            a_deadline_must_be_possible,
        }
        $crate::contract_tests! { @area $make, control:
            a_stopped_agent_is_offered_nothing_and_changes_nothing, a_stopped_agent_sends_nothing,
            what_is_written_to_a_stopped_agent_waits, a_stop_ends_with_the_membership, only_owners_stop_agents,
            stops_are_recorded_and_signaled, executions_show_the_work_of_an_agent,
            executions_are_for_the_owner_of_the_agent,
        }
        $crate::contract_tests! { @area $make, pauses:
            a_pause_stops_every_agent_in_the_chats_of_an_organization, a_pause_is_shown_and_recorded,
            a_pause_is_signaled_to_connected_agents, a_pause_of_an_organization_concerns_no_chat_without_one,
        }
        $crate::contract_tests! { @area $make, resends:
            work_is_sent_again_as_a_new_message, work_in_progress_is_not_sent_again, replaced_work_is_over,
            what_the_operator_sends_again_is_announced, work_is_sent_again_once,
            only_participants_send_work_again, work_is_not_sent_again_beyond_the_plan,
            work_is_reassigned_by_filter, a_change_of_several_goes_on_after_what_it_passed_over,
            a_replacement_that_is_gone_does_not_count,
        }
        $crate::contract_tests! { @area $make, causes:
            what_an_agent_writes_follows_from_what_it_works_on, only_open_attempts_are_causes,
            an_agent_with_much_failed_work_has_no_clear_cause, a_sender_may_name_the_cause,
            a_tree_is_read_from_its_root, what_is_sent_again_stays_in_its_tree, a_trace_runs_through_a_tree,
        }
        $crate::contract_tests! { @area $make, usage:
            reports_are_summed_by_everything, only_reports_count_and_each_once, sums_of_tokens_saturate,
            usage_is_for_those_who_answer_for_it, sums_outlive_what_they_are_about, pages_of_usage_are_exact,
            tokens_have_the_price_of_their_model, rooms_of_others_are_not_named, lists_of_usage_have_thirty_days,
        }
        $crate::contract_tests! { @area $make, holds:
            agents_that_answer_each_other_stop, the_humans_are_told_once_for_each_tree,
            a_limit_counts_from_the_next_text, humans_and_fresh_work_are_never_held,
            a_tree_with_too_many_messages_is_held, an_ambiguous_cause_hides_no_hop, a_pair_without_attempts_stops,
            a_slow_loop_stops,
        }
        $crate::contract_tests! { @area $make, releases:
            a_release_lets_a_tree_go_on, work_is_held_and_ended_by_tree, what_is_held_after_an_end_is_told_again,
            strangers_lift_no_limit,
        }
        $crate::contract_tests! { @area $make, foreign:
            what_others_began_is_labeled, an_organization_may_allow_strangers,
            who_works_for_strangers_has_fewer_rights, what_strangers_ask_is_held,
            strangers_are_held_in_their_own_rooms, an_unclear_cause_hides_no_stranger,
            a_stranger_comes_before_a_budget, strangers_have_no_memory_of_the_organization_changed,
        }
        $crate::contract_tests! { @area $make, budgets:
            each_budget_holds_what_it_limits, a_tree_far_over_its_budget_is_released, a_tree_without_texts_for_a_month_is_forgotten, humans_are_told_of_a_budget_twice,
            a_release_lets_the_amount_be_used_again, a_larger_amount_or_a_new_day_ends_a_budgets_hold,
            no_other_organization_is_told_of_a_budget, processes_share_budgets, an_older_count_changes_nothing, only_admins_set_budgets, a_deleted_organization_has_no_budgets, admins_lift_the_budget_of_their_organization,
        }
        $crate::contract_tests! { @area $make, secrets:
            a_secret_never_changes,
        }
        $crate::contract_tests! { @area $make, peers:
            peers_are_those_who_may_be_added, pages_of_peers_have_totals, peers_are_searched_and_read_by_cursor, contacts_are_searched_by_name, rooms_are_left_out, the_directory_is_for_all,
            colleagues_and_what_they_share_are_peers, contacts_are_peers,
        }
        $crate::contract_tests! { @area $make, chats:
            rooms_are_listed_newest_first_without_those_left_or_deleted, rosters_are_for_participants,
            a_returning_participant_starts_anew, refusals_leave_no_trace, a_deleted_room_is_not_found,
        }
        $crate::contract_tests! { @area $make, messages:
            the_sequence_has_no_gaps_under_many_writers, refused_messages_leave_no_trace,
            a_caller_that_has_gone_changes_nothing, a_cursor_sees_every_row_once_while_others_write,
            pages_have_totals, history_can_be_narrowed, context_contains_only_the_callers_part,
            every_message_has_the_handle_of_its_sender,
        }
        $crate::contract_tests! { @area $make, chat_lists:
            rooms_are_listed_as_wanted, rooms_that_were_left_are_not_listed, rows_hold_the_parts_that_are_wanted,
            long_rosters_are_cut, a_room_shows_whether_its_agents_work, messages_are_counted_by_kind,
            owners_observe_the_rooms_of_their_agents, rooms_are_renamed_by_their_owners,
            heavy_rooms_end_a_page_early,
        }
        $crate::contract_tests! { @area $make, read_marks:
            texts_of_others_are_unread_until_they_are_read, a_mark_moves_backwards_on_demand_only,
            deleted_texts_are_not_unread, texts_before_many_events_are_unread,
            what_was_sent_before_a_human_joined_is_read, only_participants_mark_rooms,
            rooms_are_muted_for_one_human, all_rooms_are_marked_at_once, some_rooms_are_listed_like_all,
            the_last_message_is_a_text,
        }
        $crate::contract_tests! { @area $make, retention:
            old_messages_are_erased, an_interrupted_erasure_continues,
        }
        $crate::contract_tests! { @area $make, legal_holds:
            what_is_held_is_kept, retention_comes_back_for_what_was_held, holds_are_listed_and_audited,
            texts_of_a_user_are_erased,
        }
        $crate::contract_tests! { @area $make, search:
            a_search_finds_what_a_scan_finds, what_changes_is_found_as_it_is, a_search_shows_what_its_caller_may_read,
            a_search_is_narrowed_by_room_and_time, pages_of_a_search_are_exact, many_servers_index_a_message_once,
            edits_race_with_the_index,
        }
        $crate::contract_tests! { @area $make, history:
            history_is_filtered_by_kind, a_position_remembers_since_when, an_instant_is_found_among_gaps, an_operator_reads_the_history_of_any_room,
            surroundings_of_a_message, surroundings_of_an_instant,
            heavy_messages_end_a_page_early, long_errors_are_cut_where_they_are_shown,
            every_list_is_exact_while_eight_write,
        }
        $crate::contract_tests! { @area $make, deliveries:
            attempts_are_numbered_without_gaps_under_many_workers, states_choose_what_is_listed,
            work_on_what_is_not_addressed_is_never_offered, only_the_newest_attempts_are_shown,
            readers_see_the_records_that_are_theirs, steps_are_refused_where_there_is_nothing_to_close,
            what_a_socket_took_is_delivered_if_it_is_new, each_marked_message_is_announced_once_and_missing_deliveries_are_skipped,
            marks_are_announced_only_in_chats_with_subscribers, a_mark_can_be_announced_later,
            agents_that_ask_at_once_get_their_own_records,
        }
        $crate::contract_tests! { @area $make, receipts:
            a_sender_sees_states_and_places, receipts_are_for_senders_and_humans,
        }
        $crate::contract_tests! { @area $make, redelivery:
            what_is_new_is_found_for_those_who_listen, only_what_is_new_is_found, the_newest_messages_of_chats_are_known,
            new_messages_are_read_by_those_they_are_for, what_is_new_is_told_before_every_step_on_it,
            work_on_a_backlog_is_found,
        }
        $crate::contract_tests! { @area $make, answers:
            one_key_makes_one_message_under_many_senders, one_key_makes_one_event,
            a_key_is_remembered_until_it_is_forgotten, a_refused_request_leaves_its_key_free,
            a_first_answer_outlives_a_change_of_the_room, a_key_belongs_to_sender_operation_and_room,
            one_key_makes_one_room, old_answers_are_forgotten_in_batches,
        }
        $crate::contract_tests! { @area $make, key_repeats:
            a_repeated_registration_replaces_the_lost_key,
            concurrent_registrations_leave_one_agent_with_one_key, a_rotation_ends_a_key_that_is_being_replaced,
            repeated_requests_for_keys_replace_the_lost_key,
        }
        $crate::contract_tests! { @area $make, agent_pauses:
            a_pause_stops_an_agent_in_all_of_its_chats, a_pause_of_an_agent_is_shown_and_recorded,
            a_pause_of_an_agent_is_signaled_to_it,
        }
        $crate::contract_tests! { @area $make, claims:
            a_claimed_message_is_passed_over_until_its_lease_ends, claims_end_with_their_attempts,
            claims_are_renewed_by_signs_of_life, claims_of_the_dead_are_not_renewed_for_ever,
            one_of_many_workers_claims_a_message, shared_attempts_take_over,
        }
        $crate::contract_tests! { @area $make, participant_roles:
            a_role_is_changed_and_told, a_chat_keeps_an_owner_under_concurrent_changes,
        }
        $crate::contract_tests! { @area $make, edits:
            an_edit_changes_the_text_and_nothing_else, a_deleted_text_is_nowhere,
            work_on_a_deleted_text_is_not_found, only_its_sender_changes_a_text,
            a_deleted_text_makes_room_for_another, a_repeated_request_does_not_bring_a_text_back,
            a_deletion_wins_over_whatever_goes_on,
        }
        $crate::contract_tests! { @area $make, effects:
            changes_move_the_rooms_times, a_room_is_titled_once, a_title_is_made_of_what_everybody_may_read, a_title_follows_its_text, an_agent_that_shows_itself_becomes_active,
            stored_messages_are_read_unchanged, unaddressed_work_adds_nothing_to_the_context,
        }
        $crate::contract_tests! { @area $make, waiting:
            odd_texts_of_askers_are_harmless, guests_dismiss_only_what_their_own_agents_ask, a_held_answer_ends_nothing,
            dead_work_waits_only_if_nobody_has_ended_it, owners_are_told_of_webhooks_that_fail,
        }
        $crate::contract_tests! { @area $make, boards:
            a_goal_is_set_once_and_then_edited, a_goal_that_is_set_stays_one, participants_write_observers_read_and_others_find_nothing,
            names_on_the_board_stay_as_they_were, who_leaves_drops_open_assignments,
            nobody_leaves_an_assignment_behind, a_deleted_room_has_no_board, counts_follow_the_tasks,
            attention_events_name_tasks_of_their_room, boards_leave_rooms_and_deliveries_alone,
            boards_can_be_turned_off_and_bounded,
        }
        $crate::contract_tests! { @area $make, files:
            the_same_bytes_in_a_room_are_one_file, many_uploads_of_the_same_bytes_make_one_file,
            a_file_that_expires_meanwhile_is_kept_or_unknown,
            files_are_reached_through_their_room, a_message_shows_its_files_everywhere,
            unknown_attachments_are_refused, files_of_deleted_messages_expire, edits_and_resends_keep_files,
            limits_of_files_hold, wrong_bytes_are_refused, a_deleted_room_has_no_files,
            bytes_without_a_record_are_removed, an_upload_ends_long_before_the_sweep_takes_its_bytes,
            uploads_are_audited, files_can_be_turned_off,
        }
        $crate::contract_tests! { @area $make, tasks:
            tasks_are_numbered_and_found, assignees_report_for_themselves, one_call_does_all_or_nothing,
            a_new_task_supersedes_an_active_one, edits_and_comments_are_recorded,
            histories_are_embedded_and_listed, tasks_are_listed_by_number,
            writers_at_the_same_moment_lose_nothing, one_key_makes_one_task,
        }
        $crate::contract_tests! { @area $make, task_rules:
            the_overall_status_follows_from_every_report, every_step_of_the_lifecycle_is_stored_or_refused,
            tasks_belong_to_the_room, long_texts_and_growing_histories_are_read_whole,
            an_embedded_history_is_bounded_in_bytes, a_board_is_erased_little_by_little,
        }
        $crate::contract_tests! { @area $make, bulk_deletions:
            rooms_are_deleted_as_one_by_one, agents_that_have_worked_are_deleted_with_force, rights_count_twice,
            a_disabled_user_deletes_nothing_more, jobs_take_turns, an_item_is_deleted_once,
            an_item_is_tried_a_few_times, finished_jobs_are_kept_for_a_month,
        }
        $crate::contract_tests! { @area $make, reminders:
            a_text_is_sent_when_it_is_due, what_is_scheduled_follows_the_rules_of_texts,
            a_text_repeats_until_its_rule_ends, an_occurrence_is_sent_once, a_reminder_keeps_its_cause,
            what_is_refused_is_noted, budgets_count_what_is_sent_later,
            who_may_send_nothing_more_is_not_reminded, a_key_schedules_one_text, open_reminders_are_limited,
        }
        $crate::contract_tests! { @area $make, reminder_lists:
            reminders_are_seen_and_cancelled_by_those_who_may, a_page_of_reminders_is_bounded,
            ended_reminders_are_kept_for_a_month,
        }
        $crate::contract_tests! { @area $make, webhooks:
            owners_manage_webhooks, a_room_is_delivered_in_order, failures_are_repeated_until_one_succeeds,
            webhooks_are_disabled, a_lease_expires_with_its_sender, stopped_agents_are_sent_nothing,
            what_is_gone_is_not_sent, retried_work_is_sent_again, deliveries_are_sent_again,
            deliveries_are_listed_and_erased,
        }
        $crate::contract_tests! { @area $make, webhook_order:
            a_room_waits_for_its_oldest_open_message, a_claimed_message_is_not_sent,
            what_is_offered_again_comes_before_later_messages, a_clock_that_is_ahead_repeats_nothing,
            a_pause_ends_no_delivery_and_no_webhook,
            an_earlier_address_disables_nothing, agents_with_many_rooms_leave_places_to_others,
        }
        $crate::contract_tests! { @area $make, webhook_races:
            a_delivery_has_one_sender, racing_senders_send_each_message_once, a_webhook_is_its_owners,
        }
        $crate::contract_tests! { @area $make, organization_webhooks:
            admins_manage_the_webhook_of_their_organization, events_are_sent_in_the_order_of_the_log,
            events_that_are_not_named_are_passed_over, events_are_repeated_until_one_succeeds, an_event_has_one_sender,
            an_event_that_is_not_received_any_more_is_dropped,
            webhooks_of_organizations_are_disabled, events_are_sent_again, a_deleted_organization_has_no_webhook,
        }
        $crate::contract_tests! { @area $make, attention:
            items_are_listed_for_those_in_their_room, a_list_is_paged_over_all_its_parts,
            an_answer_is_posted_once_and_ends_its_item, one_of_many_answers_counts,
            an_approval_gets_the_reply_of_its_adapter, items_expire_and_are_resolved,
            notices_are_dismissed_or_released, items_are_erased_with_their_messages,
        }
        $crate::contract_tests! { @area $make, notifications:
            users_keep_channels, what_waits_is_told_once, what_has_ended_is_not_told,
            one_sender_has_the_lease_of_a_channel, a_digest_gathers_what_waits, a_refused_channel_is_switched_off,
            what_waits_is_sent_in_parts, a_link_works_once, notifications_end_with_their_user,
        }
        $crate::contract_tests! { @area $make, pushes:
            callers_keep_configurations, configurations_are_limited, one_sender_has_a_lease,
            failing_receivers_are_given_up, configurations_end_with_what_they_belong_to, users_take_turns,
        }
        $crate::contract_tests! { @area $make, contacts:
            requests_walk_through_their_states, handles_name_pending_requests, inverse_requests_are_approved,
            inverse_requests_at_the_same_moment_end_in_one_contact, duplicates_at_the_same_moment_are_refused,
            removal_is_for_both_sides, requests_expire, requests_are_listed_for_their_recipients,
            strangers_find_nothing, contacts_are_listed_newest_first, a_deleted_agent_is_nobodys_contact,
        }
    };
    (@area $make:expr, $area:ident: $($case:ident),+ $(,)?) => {
        mod $area {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let (stores, _alive) = $make;
                    $crate::contract::$area::$case($crate::World::on(stores)).await;
                }
            )+
        }
    };
}
