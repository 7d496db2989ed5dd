//! The whole contract of a scheme, run over small tables of many shapes.
//!
//! | module | what it checks |
//! |---|---|
//! | [`subject`] | nothing: the tables that checks share, their clients, and a lookup from row to row |
//! | [`rows`] | rows come back, for every shape and content |
//! | [`wire`] | sizes are what the report says; damaged bytes give typed errors |
//! | [`images`] | artifacts in pieces, missing, damaged; images cut short, disks full, sectors bad |
//! | [`extensions`] | buckets, sums, units and masks, where the scheme has them |
//! | [`aborts`] | refusals that depend on nothing that is looked up, where the scheme declares that |
//! | [`queries`] | fresh randomness, repeatable from a seed; misuse; budgets; many at once |
//! | [`epochs`] | a revised image is a fresh one; a patched artifact too |
//! | [`parts`] | tables in parts: their partials make the answer of the whole, where the scheme can |
//! | [`crashes`] | states and journals: what comes back after a crash is the client that was there |
//! | [`states`] | damaged states, journals and deltas; lies; hints that follow the epochs |
//! | [`params`] | promises kept; literals damaged; every named set |
//! | [`hint_requests`] | hint requests and responses, and their times, where a server makes hints |
//!
//! Everything goes through [`sotto_core::SchemeEntry`], as it does in a server and a client.

pub mod aborts;
pub mod crashes;
pub mod epochs;
pub mod extensions;
pub mod hint_requests;
pub mod images;
pub mod params;
pub mod parts;
pub mod queries;
pub mod rows;
pub mod states;
pub mod subject;
pub mod wire;

pub use subject::Subject;

use libtest_mimic::Trial;

/// A check: its name, the schemes that it is for, and its function, which panics where a scheme
/// breaks the contract.
type Check = (&'static str, Condition, fn(&Subject));

/// Whether a check is for a scheme.
type Condition = fn(&Subject) -> bool;

/// All checks of the suite.
#[rustfmt::skip]
const CHECKS: &[Check] = &[
    ("rows_of_1_byte", ALWAYS, |subject| rows::come_back(subject, 1)),
    ("rows_of_2_bytes", ALWAYS, |subject| rows::come_back(subject, 2)),
    ("rows_of_7_bytes", ALWAYS, |subject| rows::come_back(subject, 7)),
    ("rows_of_32_bytes", ALWAYS, |subject| rows::come_back(subject, 32)),
    ("rows_of_255_bytes", ALWAYS, |subject| rows::come_back(subject, 255)),
    ("rows_of_4096_bytes", ALWAYS, |subject| rows::come_back(subject, 4096)),
    ("narrow_rows_of_larger_tables", ALWAYS, rows::come_back_from_larger_tables),
    ("rows_of_one_byte_value_only", ALWAYS, rows::of_equal_bytes_come_back),
    ("records_come_out_of_an_image", ALWAYS, rows::come_off_an_image),
    ("messages_have_the_reported_sizes", ALWAYS, wire::sizes),
    ("queries_of_wrong_lengths_are_refused", ALWAYS, wire::query_lengths),
    ("answers_of_wrong_lengths_are_refused", ALWAYS, wire::answer_lengths),
    ("keys_of_wrong_lengths_are_refused", ALWAYS, wire::key_lengths),
    ("damaged_queries_do_no_harm", ALWAYS, wire::damaged_queries),
    ("damaged_answers_do_no_harm", ALWAYS, wire::damaged_answers),
    ("damaged_keys_do_no_harm", ALWAYS, wire::damaged_keys),
    ("the_number_of_answers_is_checked", QUERIES, wire::answer_count),
    ("equal_seeds_give_equal_bytes", ALWAYS, queries::repeat),
    ("queries_for_one_record_differ", ALWAYS, queries::differ),
    ("an_index_past_the_end_is_misuse", ALWAYS, queries::past_the_end),
    ("foreign_tickets_do_no_harm", ALWAYS, queries::foreign_tickets),
    ("foreign_sessions_do_no_harm", QUERIES, queries::foreign_sessions),
    ("sessions_outlive_epochs", ALWAYS, queries::sessions_outlive_epochs),
    ("abilities_are_what_the_entry_says", ALWAYS, queries::abilities),
    ("the_budget_is_kept", ALWAYS, queries::budget),
    ("batches_equal_single_answers", QUERIES, queries::batches_equal_singles),
    ("one_bad_query_costs_only_itself", QUERIES, queries::bad_among_good),
    ("refusals_do_not_depend_on_the_record", AUTHENTICATED, aborts::do_not_depend_on_the_record),
    ("artifacts_come_in_pieces_of_any_size", ALWAYS, images::artifact_pieces),
    ("artifacts_have_the_reported_sizes", ALWAYS, images::artifact_sizes),
    ("wrong_artifacts_are_misuse", ALWAYS, images::artifact_misuse),
    ("damaged_artifacts_do_no_harm", ALWAYS, images::damaged_artifacts),
    ("a_revised_image_equals_a_fresh_one", REVISES, epochs::revised),
    ("epochs_follow_each_other", REVISES, epochs::twice),
    ("damaged_deltas_do_no_harm", PATCHES, epochs::damaged_deltas),
    ("changes_past_the_end_are_misuse", REVISES, epochs::past_the_end),
    ("masks_are_of_a_tables_own", MASKS_DATA, extensions::masks_of_their_own),
    ("writes_count_in_columns", MASKS_DATA, extensions::mask_places),
    ("images_cut_short_are_refused", ALWAYS, images::cut_short),
    ("a_full_disk_is_a_storage_error", ALWAYS, images::full_disk),
    ("a_bad_sector_is_a_storage_error", ALWAYS, images::bad_sector),
    ("records_of_another_shape_are_misuse", ALWAYS, images::other_shapes),
    ("parts_make_the_table", CUTS, parts::make_the_table),
    ("units_come_back", STREAMS, extensions::units_come_back),
    ("damaged_units_do_no_harm", STREAMS, extensions::damaged_units),
    ("a_query_brings_a_record_of_each_bucket", ASKS_BUCKETS, extensions::buckets_come_back),
    ("batch_queries_look_like_single_ones", ASKS_BUCKETS, extensions::bucket_sizes),
    ("places_past_their_buckets_are_misuse", ASKS_BUCKETS, extensions::bucket_misuse),
    ("damaged_answers_about_buckets_do_no_harm", ASKS_BUCKETS, extensions::damaged_buckets),
    ("buckets_are_for_schemes_that_ask_them", ALWAYS, extensions::buckets_refused),
    ("a_query_brings_the_sum_of_several_records", ADDS_UP, extensions::sums_come_back),
    ("queries_for_sums_look_like_others", ADDS_UP, extensions::sum_sizes),
    ("hint_messages_have_their_sizes", HINT_SERVER, hint_requests::have_their_sizes),
    ("damaged_hint_requests_do_no_harm", HINT_SERVER, hint_requests::damaged_do_no_harm),
    ("hint_requests_and_queries_are_apart", HINT_SERVER, hint_requests::are_apart_from_queries),
    ("a_crash_at_every_entry_of_the_journal", KEEPS, crashes::at_every_entry),
    ("one_entry_of_many_steps", KEEPS, crashes::in_one_entry),
    ("a_fresh_state_has_the_reported_size", KEEPS, crashes::reported_size),
    ("foreign_and_repeated_queries_are_misuse", KEEPS, crashes::foreign_and_repeated),
    ("preparations_go_on", KEEPS, crashes::preparations_go_on),
    ("damaged_states_are_refused_or_harmless", KEEPS, states::damaged),
    ("damaged_journals_are_refused_or_harmless", KEEPS, states::damaged_journals),
    ("lies_do_not_change_what_is_sent", KEEPS, states::lies_do_not_change_what_is_sent),
    ("hints_follow_the_table", FOLLOWS, states::follow),
    ("damaged_row_deltas_are_refused", FOLLOWS, states::damaged_deltas),
    ("promises_are_kept", ALWAYS, params::promises),
    ("promises_of_several_lookups_are_kept", ALWAYS, params::together),
    ("absurd_tables_are_refused", ALWAYS, params::absurd_tables),
    ("literals_cut_short_are_refused", ALWAYS, params::cut_short),
    ("literals_lack_no_field", ALWAYS, params::fields),
    ("extreme_literals_do_no_harm", ALWAYS, params::extremes),
    ("named_sets_give_the_right_rows", ALWAYS, params::sets_come_back),
    ("sets_of_other_names_are_refused", ALWAYS, params::unknown_set),
];

const ALWAYS: Condition = |_| true;
const QUERIES: Condition = |subject| !subject.entry.is_downloadable();
const AUTHENTICATED: Condition =
    |subject| QUERIES(subject) && subject.entry.metadata.abort_leakage.is_authenticated();
const REVISES: Condition = |subject| subject.entry.server.update_image.is_some();
const MASKS_DATA: Condition = |subject| subject.entry.server.whitening.is_some();
const CUTS: Condition = |subject| subject.entry.server.parts.is_some();
const PATCHES: Condition = |subject| subject.entry.patch.is_some();
const STREAMS: Condition = |subject| subject.entry.units.is_some();
const ASKS_BUCKETS: Condition = |subject| subject.entry.batch.is_some();
const ADDS_UP: Condition = |subject| subject.entry.sum.is_some();
const HINT_SERVER: Condition = |subject| subject.entry.hint_server.is_some();
const KEEPS: Condition = |subject| subject.states;
const FOLLOWS: Condition = |subject| KEEPS(subject) && REVISES(subject);

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
