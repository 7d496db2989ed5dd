//! The whole contract of a scheme, run over small tables of many shapes.
//!
//! | module | what it checks |
//! |---|---|
//! | [`subject`] | nothing: the tables that checks share, and a lookup from row to row |
//! | [`refilled_client`] | nothing: a client that requests hints as soon as they are due |
//! | [`rows`] | rows come back, for every shape and content |
//! | [`wire`] | sizes are what the report says; damaged bytes give typed errors |
//! | [`queries`] | fresh randomness, repeatable from a seed; misuse; budgets |
//! | [`buckets`] | a record of each bucket by one query, where the scheme can |
//! | [`batches`] | many queries at once are answered as one by one |
//! | [`artifacts`] | hints in pieces, missing, too long, damaged |
//! | [`epochs`] | a revised image is a fresh one; a patched artifact too |
//! | [`masks`] | tables under public masks of their own, where the scheme has them |
//! | [`parts`] | tables in parts: their partials make the answer of the whole, where the scheme can |
//! | [`crashes`] | states and journals: what comes back after a crash is the client that was there |
//! | [`states`] | damaged states, journals and deltas; lies; hints that follow the epochs |
//! | [`sums`] | sums of records by one query, where the scheme can |
//! | [`storage`] | images cut short, disks full, sectors bad, records of another shape |
//! | [`params`] | promises kept; literals damaged |
//! | [`sets`] | every named parameter set, at tables that use all of it |
//! | [`units`] | records read piece by piece, where the scheme can |
//! | [`upkeep`] | hint requests and responses, and their times, where a server makes hints |
//!
//! Everything goes through [`sotto_core::SchemeEntry`], as it does in a server and a client.

pub mod artifacts;
pub mod batches;
pub mod buckets;
pub mod crashes;
pub mod epochs;
pub mod masks;
pub mod params;
pub mod parts;
pub mod queries;
pub mod refilled_client;
pub mod rows;
pub mod sets;
pub mod states;
pub mod storage;
pub mod subject;
pub mod sums;
pub mod units;
pub mod upkeep;
pub mod wire;

pub use subject::Subject;

use libtest_mimic::Trial;

/// A check: its name, the schemes that it is for, and its function, which panics where a scheme
/// breaks the contract.
type Check = (&'static str, fn(&Subject) -> bool, fn(&Subject));

/// All checks of the suite.
#[rustfmt::skip]
const CHECKS: &[Check] = &[
    ("rows_of_1_byte", always, |subject| rows::come_back(subject, 1)),
    ("rows_of_2_bytes", always, |subject| rows::come_back(subject, 2)),
    ("rows_of_7_bytes", always, |subject| rows::come_back(subject, 7)),
    ("rows_of_32_bytes", always, |subject| rows::come_back(subject, 32)),
    ("rows_of_255_bytes", always, |subject| rows::come_back(subject, 255)),
    ("rows_of_4096_bytes", always, |subject| rows::come_back(subject, 4096)),
    ("narrow_rows_of_larger_tables", always, rows::come_back_from_larger_tables),
    ("rows_of_one_byte_value_only", always, rows::of_equal_bytes_come_back),
    ("records_come_out_of_an_image", always, rows::come_off_an_image),
    ("messages_have_the_reported_sizes", always, wire::sizes),
    ("queries_of_wrong_lengths_are_refused", always, wire::query_lengths),
    ("answers_of_wrong_lengths_are_refused", always, wire::answer_lengths),
    ("keys_of_wrong_lengths_are_refused", always, wire::key_lengths),
    ("damaged_queries_do_no_harm", always, wire::damaged_queries),
    ("damaged_answers_do_no_harm", always, wire::damaged_answers),
    ("damaged_keys_do_no_harm", always, wire::damaged_keys),
    ("the_number_of_answers_is_checked", always, wire::answer_count),
    ("equal_seeds_give_equal_bytes", always, queries::repeat),
    ("queries_for_one_record_differ", always, queries::differ),
    ("an_index_past_the_end_is_misuse", always, queries::past_the_end),
    ("foreign_tickets_do_no_harm", always, queries::foreign_tickets),
    ("foreign_sessions_do_no_harm", always, queries::foreign_sessions),
    ("sessions_outlive_epochs", always, queries::sessions_outlive_epochs),
    ("abilities_are_what_the_entry_says", always, queries::abilities),
    ("the_budget_is_kept", always, queries::budget),
    ("batches_equal_single_answers", always, batches::equal_singles),
    ("one_bad_query_costs_only_itself", always, batches::bad_among_good),
    ("artifacts_come_in_pieces_of_any_size", always, artifacts::pieces),
    ("artifacts_have_the_reported_sizes", always, artifacts::sizes),
    ("wrong_artifacts_are_misuse", always, artifacts::misuse),
    ("damaged_artifacts_do_no_harm", always, artifacts::damaged),
    ("a_revised_image_equals_a_fresh_one", revises, epochs::revised),
    ("epochs_follow_each_other", revises, epochs::twice),
    ("damaged_deltas_do_no_harm", patches, epochs::damaged_deltas),
    ("changes_past_the_end_are_misuse", revises, epochs::past_the_end),
    ("masks_are_of_a_tables_own", masks_data, masks::of_their_own),
    ("writes_count_in_columns", masks_data, masks::places),
    ("images_cut_short_are_refused", always, storage::cut_short),
    ("a_full_disk_is_a_storage_error", always, storage::full_disk),
    ("a_bad_sector_is_a_storage_error", always, storage::bad_sector),
    ("records_of_another_shape_are_misuse", always, storage::other_shapes),
    ("parts_make_the_table", cuts, parts::make_the_table),
    ("units_come_back", streams, units::come_back),
    ("damaged_units_do_no_harm", streams, units::damaged),
    ("a_query_brings_a_record_of_each_bucket", asks_buckets, buckets::come_back),
    ("batch_queries_look_like_single_ones", asks_buckets, buckets::sizes),
    ("places_past_their_buckets_are_misuse", asks_buckets, buckets::misuse),
    ("damaged_answers_about_buckets_do_no_harm", asks_buckets, buckets::damaged),
    ("buckets_are_for_schemes_that_ask_them", always, buckets::refused),
    ("a_query_brings_the_sum_of_several_records", adds_up, sums::come_back),
    ("queries_for_sums_look_like_others", adds_up, sums::sizes),
    ("orders_and_supplies_have_their_sizes", orders, upkeep::orders),
    ("damaged_orders_do_no_harm", orders, upkeep::damaged_orders),
    ("orders_and_queries_are_apart", orders, upkeep::orders_and_queries_are_apart),
    ("a_crash_at_every_entry_of_the_journal", keeps, crashes::at_every_entry),
    ("one_entry_of_many_steps", keeps, crashes::in_one_entry),
    ("a_fresh_state_has_the_reported_size", keeps, crashes::reported_size),
    ("foreign_and_repeated_queries_are_misuse", keeps, crashes::foreign_and_repeated),
    ("preparations_go_on", keeps, crashes::preparations_go_on),
    ("damaged_states_are_refused_or_harmless", keeps, states::damaged),
    ("damaged_journals_are_refused_or_harmless", keeps, states::damaged_journals),
    ("lies_do_not_change_what_is_sent", keeps, states::lies_do_not_change_what_is_sent),
    ("hints_follow_the_table", follows, states::follow),
    ("damaged_row_deltas_are_refused", follows, states::damaged_deltas),
    ("promises_are_kept", always, params::promises),
    ("promises_of_several_lookups_are_kept", always, params::together),
    ("absurd_tables_are_refused", always, params::absurd_tables),
    ("literals_cut_short_are_refused", always, params::cut_short),
    ("literals_lack_no_field", always, params::fields),
    ("extreme_literals_do_no_harm", always, params::extremes),
    ("named_sets_give_the_right_rows", always, sets::come_back),
    ("sets_of_other_names_are_refused", always, sets::unknown),
];

fn always(_: &Subject) -> bool {
    true
}

fn revises(subject: &Subject) -> bool {
    subject.entry.server.revise.is_some()
}

fn masks_data(subject: &Subject) -> bool {
    subject.entry.server.mask.is_some()
}

fn cuts(subject: &Subject) -> bool {
    subject.entry.server.parts.is_some()
}

fn patches(subject: &Subject) -> bool {
    subject.entry.patch.is_some()
}

fn streams(subject: &Subject) -> bool {
    subject.entry.units.is_some()
}

fn asks_buckets(subject: &Subject) -> bool {
    subject.entry.batch.is_some()
}

fn adds_up(subject: &Subject) -> bool {
    subject.entry.sum.is_some()
}

fn orders(subject: &Subject) -> bool {
    subject.entry.hint_server.is_some()
}

fn keeps(subject: &Subject) -> bool {
    subject.states
}

fn follows(subject: &Subject) -> bool {
    keeps(subject) && revises(subject)
}

/// The checks for a scheme's abilities, as tests named `scheme/1::check`.
///
/// `tests/conformance.rs` runs them for every registered scheme and for those in the clear.
pub fn trials(subject: &'static Subject) -> impl Iterator<Item = Trial> {
    CHECKS.iter().filter(|(_, meant_for, _)| meant_for(subject)).map(move |(name, _, check)| {
        Trial::test(format!("{}::{name}", subject.entry.id), move || {
            check(subject);
            Ok(())
        })
    })
}
