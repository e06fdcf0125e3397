//! What every store has to prove.
//!
//! A store's crate writes one fixture and one line:
//!
//! ```text
//! lineup_testkit::store_conformance!(Fixture);
//! ```
//!
//! The cases are ordinary functions in [`cases`], each named for the sentence of the port that it
//! shows, so that another harness can call them singly.

pub mod cases;
pub mod samples;

use async_trait::async_trait;
use lineup_ports::outbound::Store;

/// A store under test.
#[async_trait]
pub trait StoreFixture: Sized + Send + Sync {
    /// The store.
    type Store: Store;

    /// A store that is fresh and empty.
    async fn create() -> Self;

    /// The store.
    fn store(&self) -> &Self::Store;

    /// Drops every handle and opens the same data again.
    async fn reopen(self) -> Self;
}

/// One named test per sentence of the store port, for a [`StoreFixture`].
#[macro_export]
macro_rules! store_conformance {
    ($fixture:ty) => {
        $crate::store_conformance!($fixture:
            a_new_workspace_is_empty,
            open_gives_back_everything_live,
            committed_changes_survive_reopening,
            a_finished_call_is_not_live_any_more,
            a_batch_is_durable_whole_or_not_at_all,
            call_3_an_entry_that_was_taken_in_is_refused,
            an_entry_is_known_per_workspace,
            a_row_that_cannot_be_stored_is_refused_and_the_next_batch_goes_on,
            an_entry_needs_its_journal_row,
            a_commit_of_an_older_owner_is_fenced,
            batches_are_numbered_without_a_gap,
            reopen_answers_the_last_durable_batch,
            a_probe_leaves_nothing_behind,
            dur_2_the_outbox_keeps_the_order_and_loses_only_what_is_removed,
            dur_5_refusals_add_up,
            the_last_write_of_a_batch_counts,
            fetch_sees_every_answered_commit,
            fetch_answers_nothing_for_what_is_open_or_unknown,
            fetch_knows_texts_actions_and_intents,
            ses_1_a_document_is_read_back_with_its_revision,
            sur_4_what_surfaces_show_is_read_back_until_it_is_gone,
            the_story_of_a_call_is_whole_and_in_order,
            the_audit_answers_newest_first,
            a_conversation_is_read_in_pages_each_row_with_its_ending,
            what_people_see_is_per_conversation_and_workspace,
            sessions_are_read_newest_first,
            a_commit_goes_on_when_its_future_is_dropped,
            one_batch_may_hold_several_workspaces,
            descriptors_of_open_calls_are_given_back,
            inv_7_publications_and_policy_are_latest_values,
        );
    };
    ($fixture:ty: $($case:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            $crate::store::cases::$case::<$fixture>().await;
        }
    )*};
}
