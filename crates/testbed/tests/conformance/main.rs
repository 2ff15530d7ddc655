//! What all engines have to do alike: one set of behaviours, run for each of them. What an engine has of its own is tested
//! in a file of its name.
//!
//! An engine joins by a [`Bed`](beds::Bed) in `beds/` and a line at the end of this file; or, as `beds/memory` does, by a
//! module there alone.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, in its helpers too")]

/// Makes a test of every behaviour.
macro_rules! behaviours {
    ($bed:expr; $($group:ident: $($name:ident)+;)+) => {
        $($(
            #[test]
            fn $name() {
                crate::$group::$name(&$bed);
            }
        )+)+
    };
}

/// Has an engine show all behaviours.
macro_rules! engine {
    ($engine:ident, $bed:expr) => {
        mod $engine {
            behaviours! { $bed;
                values: every_value_comes_back_as_it_went null_is_carried_in_every_type texts_may_be_as_long_as_their_column
                    numbers_beyond_their_column_are_refused;
                loads: a_load_is_whole_or_leaves_nothing a_loaded_table_is_as_large_as_its_rows_at_least
                    a_row_that_is_not_the_tables_is_a_fault_of_ours;
                statements: the_dialects_statements_mean_the_same a_table_that_was_made_anew_is_read_as_it_is
                    a_receiver_that_has_enough_does_not_wait_for_the_rest a_statement_is_checked_without_being_run;
                self_test: every_statement_and_operation_of_a_self_test_works;
                requests: requests_come_to_what_sessions_do procedures_do_what_texts_do changes_count_their_rows a_failed_load_of_a_request_leaves_nothing
                    a_request_that_fails_leaves_the_session_usable transactions_hold;
                workspaces: a_lease_keeps_others_out_until_it_is_given_back what_is_not_ours_is_never_touched
                    a_place_goes_with_all_its_tables a_data_set_is_read_by_a_session_of_another_run;
                running: a_running_statement_is_cancelled_from_another_thread a_running_request_is_cancelled_too
                    sessions_of_a_dead_run_are_ended_and_others_live;
                failures: what_can_not_be_opened_says_why wrong_statements_are_told_in_one_sentence
                    a_lost_server_is_known_and_a_lease_comes_back a_cold_start_leaves_the_rows_as_they_are;
            }
        }
    };
}

mod beds;
mod failures;
mod loads;
mod requests;
mod rows;
mod running;
mod self_test;
mod statements;
mod values;
mod workspaces;

engine!(sqlite, crate::beds::sqlite::Bed);
engine!(postgres, crate::beds::postgres::Bed);
engine!(mariadb, crate::beds::mariadb::Bed);
#[cfg(feature = "live-mssql")]
engine!(mssql, crate::beds::mssql::Bed);
