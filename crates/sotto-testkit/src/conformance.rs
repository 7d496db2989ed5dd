//! The whole contract of a scheme, run over small tables of many shapes.
//!
//! | module | what it checks |
//! |---|---|
//! | [`subject`] | nothing: the tables that checks share, and a lookup from row to row |
//! | [`rows`] | rows come back, for every shape and content |
//! | [`wire`] | sizes are what the report says; damaged bytes give typed errors |
//! | [`queries`] | fresh randomness, repeatable from a seed; misuse; budgets |
//! | [`batches`] | many queries at once are answered as one by one |
//! | [`artifacts`] | hints in pieces, missing, too long, damaged |
//! | [`epochs`] | a revised image is a fresh one; a patched artifact too |
//! | [`steps`] | answers step by step in every order, where the scheme can |
//! | [`storage`] | images cut short, disks full, sectors bad, records of another shape |
//! | [`params`] | promises kept; literals damaged |
//! | [`sets`] | every named parameter set, at tables that use all of it |
//! | [`units`] | records read piece by piece, where the scheme can |
//! | [`upkeep`] | orders, supplies, and when they come, where a server makes hints |
//!
//! Everything goes through [`sotto_core::SchemeEntry`], as it does in a server and a client.

pub mod artifacts;
pub mod batches;
pub mod epochs;
pub mod params;
pub mod queries;
pub mod rows;
pub mod sets;
pub mod steps;
pub mod storage;
pub mod subject;
pub mod units;
pub mod upkeep;
pub mod wire;

pub use subject::Subject;

/// Expands to the tests of one scheme: `conformance!(simplepir::ENTRY);`.
///
/// `conformance!(ENTRY, in_the_clear);` leaves out what only a private scheme can pass.
#[macro_export]
macro_rules! conformance {
    ($entry:expr) => {
        $crate::conformance!(@subject $crate::conformance::Subject::private(&$entry));
    };
    ($entry:expr, in_the_clear) => {
        $crate::conformance!(@subject $crate::conformance::Subject::in_the_clear(&$entry));
    };
    (@subject $subject:expr) => {
        static SUBJECT: $crate::conformance::Subject = $subject;

        $crate::conformance!(@tests
            rows_of_1_byte: rows::come_back(1);
            rows_of_2_bytes: rows::come_back(2);
            rows_of_7_bytes: rows::come_back(7);
            rows_of_32_bytes: rows::come_back(32);
            rows_of_255_bytes: rows::come_back(255);
            rows_of_4096_bytes: rows::come_back(4096);
            narrow_rows_of_larger_tables: rows::come_back_from_larger_tables();
            rows_of_one_byte_value_only: rows::of_equal_bytes_come_back();
            messages_have_the_reported_sizes: wire::sizes();
            queries_of_wrong_lengths_are_refused: wire::query_lengths();
            answers_of_wrong_lengths_are_refused: wire::answer_lengths();
            keys_of_wrong_lengths_are_refused: wire::key_lengths();
            damaged_queries_do_no_harm: wire::damaged_queries();
            damaged_answers_do_no_harm: wire::damaged_answers();
            damaged_keys_do_no_harm: wire::damaged_keys();
            the_number_of_answers_is_checked: wire::answer_count();
            equal_seeds_give_equal_bytes: queries::repeat();
            queries_for_one_record_differ: queries::differ();
            an_index_past_the_end_is_misuse: queries::past_the_end();
            foreign_tickets_do_no_harm: queries::foreign_tickets();
            foreign_sessions_do_no_harm: queries::foreign_sessions();
            sessions_outlive_epochs: queries::sessions_outlive_epochs();
            the_budget_is_kept: queries::budget();
            batches_equal_single_answers: batches::equal_singles();
            one_bad_query_costs_only_itself: batches::bad_among_good();
            artifacts_come_in_pieces_of_any_size: artifacts::pieces();
            artifacts_have_the_reported_sizes: artifacts::sizes();
            wrong_artifacts_are_misuse: artifacts::misuse();
            damaged_artifacts_do_no_harm: artifacts::damaged();
            a_revised_image_equals_a_fresh_one: epochs::revised();
            epochs_follow_each_other: epochs::twice();
            damaged_deltas_do_no_harm: epochs::damaged_deltas();
            changes_past_the_end_are_misuse: epochs::past_the_end();
            images_cut_short_are_refused: storage::cut_short();
            a_full_disk_is_a_storage_error: storage::full_disk();
            a_bad_sector_is_a_storage_error: storage::bad_sector();
            records_of_another_shape_are_misuse: storage::other_shapes();
            answers_come_step_by_step: steps::come_back();
            units_come_back: units::come_back();
            damaged_units_do_no_harm: units::damaged();
            orders_and_supplies_have_their_sizes: upkeep::orders();
            damaged_orders_do_no_harm: upkeep::damaged_orders();
            orders_and_queries_are_apart: upkeep::orders_and_queries_are_apart();
            promises_are_kept: params::promises();
            promises_of_several_lookups_are_kept: params::together();
            absurd_tables_are_refused: params::absurd_tables();
            literals_cut_short_are_refused: params::cut_short();
            literals_lack_no_field: params::fields();
            extreme_literals_do_no_harm: params::extremes();
            named_sets_give_the_right_rows: sets::come_back();
            sets_of_other_names_are_refused: sets::unknown();
        );
    };
    (@tests $($name:ident: $module:ident::$check:ident($($argument:expr)?);)*) => {
        $(
            #[test]
            fn $name() {
                $crate::conformance::$module::$check(&SUBJECT $(, $argument)?);
            }
        )*
    };
}
