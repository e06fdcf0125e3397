//! Named points between "frame read" and "reply written", at which a proof ends the process.
//!
//! A point is `hit(Point::RelayFrameRead)`. Without the feature `armed` that is an empty inlined
//! function: the shipped program holds no name, no counter and no branch. With it, the environment
//! says what happens:
//!
//! - `LINEUP_FAILPOINT=relay.frame_read:3`: the third hit of that point ends the process with SIGKILL.
//! - `LINEUP_FAILPOINT_LIST=path`: every hit appends the point's name to that file.
//!
//! The existing `fail` crate was no fit: its actions return, sleep or panic, and a panic unwinds
//! (destructors run, tokio catches it), while a kill must run nothing. Its points are free texts,
//! so that a name nobody hits goes unnoticed; here they are a closed enum, and the list below is the
//! list. `docs/reliability.md` says how they are used.
//!
//! To add a point: a row in [`points!`](Point), one `hit` where it is. Two tests hold list and code
//! together.
#![warn(missing_docs)]

/// What a kill at a point shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Between a durable commit and the first thing that follows from it.
    AfterCommit,
    /// While a Runtime comes up.
    Recovery,
    /// Any other step.
    Step,
}

macro_rules! points {
    ($($(#[doc = $doc:literal])+ $point:ident = $name:literal in $place:ident;)+) => {
        /// A named point.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Point { $($(#[doc = $doc])+ $point,)+ }

        impl Point {
            /// Every point, in the order of the list.
            pub const ALL: &[Self] = &[$(Self::$point),+];

            /// Its name, as the environment and `docs/reliability.md` use it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$point => $name,)+ }
            }

            /// What a kill here shows.
            #[must_use]
            pub const fn place(self) -> Place {
                match self { $(Self::$point => Place::$place,)+ }
            }
        }
    };
}

points! {
    /// The relay has opened its disk.
    ServeRelayOpened = "serve.relay_opened" in Recovery;
    /// The store is open; nothing was read.
    ServeStoreOpened = "serve.store_opened" in Recovery;
    /// A first conversation is there, the entries are open, nobody knows yet.
    ServeAttached = "serve.attached" in Recovery;
    /// The new owner's epoch is durable.
    SqlOwned = "sql.owned" in Recovery;
    /// The live records were read.
    SqlRecordsRead = "sql.records_read" in Recovery;
    /// The Runtime holds the live records.
    RecoveryLoaded = "recovery.loaded" in Recovery;
    /// The recovery was offered to the engine.
    RecoveryOffered = "recovery.offered" in Recovery;
    /// The recovery is decided.
    RecoveryDecided = "recovery.decided" in Recovery;
    /// The recovery is durable, and nothing followed from it.
    RecoveryCommitted = "recovery.committed" in Recovery;
    /// What follows from the recovery was ordered; not everything of before was shown again.
    RecoveryFollowed = "recovery.followed" in Recovery;
    /// Everything of before was shown again.
    RecoveryShown = "recovery.shown" in Recovery;

    /// The relay has read a frame.
    RelayFrameRead = "relay.frame_read" in Step;
    /// An envelope is in the relay's memory.
    RelayTakenIn = "relay.taken_in" in Step;
    /// An envelope was queued for its receiver.
    RelayForwarded = "relay.forwarded" in Step;
    /// The receiver has acknowledged; the relay does not know yet.
    RelayReceiverAcked = "relay.receiver_acked" in Step;
    /// The sender's acknowledgement was queued, because the receiver has the envelope.
    RelaySenderAcked = "relay.sender_acked" in Step;
    /// A batch of envelopes is about to be written to the relay's disk.
    RelayBeforeStore = "relay.before_store" in Step;
    /// It is on the relay's disk; no sender knows.
    RelayStored = "relay.stored" in Step;
    /// Frames were handed to a socket.
    RelayFramesWritten = "relay.frames_written" in Step;

    /// The transport stands.
    TransportConnected = "transport.connected" in Step;
    /// The transport hands an envelope over.
    TransportDelivered = "transport.delivered" in Step;
    /// The relay has accepted a message of ours.
    TransportAccepted = "transport.accepted" in Step;

    /// An envelope was decoded.
    GateDecoded = "gate.decoded" in Step;
    /// An envelope is in the actor's queue.
    GateQueued = "gate.queued" in Step;
    /// Messages are encoded and not yet handed to the transport.
    GateEncoded = "gate.encoded" in Step;
    /// Messages were handed to the transport.
    GateSent = "gate.sent" in Step;
    /// Deliveries were acknowledged.
    GateAcknowledged = "gate.acknowledged" in Step;

    /// An envelope was offered to the engine.
    ActorEnvelopeOffered = "actor.envelope_offered" in Step;
    /// A Host's report was offered.
    ActorHostOffered = "actor.host_offered" in Step;
    /// A user's act was offered: a UI Action or a lifecycle intent.
    ActorUserOffered = "actor.user_offered" in Step;
    /// A MiniApp's report or request was offered.
    ActorAppOffered = "actor.app_offered" in Step;
    /// An acknowledgement of the relay was offered.
    ActorAcceptedOffered = "actor.accepted_offered" in Step;
    /// A tick of the clock was offered.
    ActorTickOffered = "actor.tick_offered" in Step;
    /// The outbox is about to be sent again.
    ActorResending = "actor.resending" in Step;
    /// Facts were asked for.
    ActorFactsAsked = "actor.facts_asked" in Step;
    /// Facts were taken in, and everything was decided.
    ActorFactsTaken = "actor.facts_taken" in Step;
    /// A batch is decided and not yet given to the store.
    ActorBatchTaken = "actor.batch_taken" in Step;
    /// The store says that the batch is durable.
    ActorCommitAnswered = "actor.commit_answered" in AfterCommit;
    /// The engine knows.
    ActorSettled = "actor.settled" in AfterCommit;
    /// Effects were taken out, none was begun.
    ActorEffectsTaken = "actor.effects_taken" in AfterCommit;
    /// Messages were ordered; deliveries are not acknowledged, nothing is shown.
    ActorSendOrdered = "actor.send_ordered" in Step;
    /// Acknowledgements were ordered; nothing is shown.
    ActorAckOrdered = "actor.ack_ordered" in Step;
    /// Hosts, Surfaces and MiniApps were given their orders.
    ActorFollowed = "actor.followed" in Step;

    /// The writer has a batch.
    SqlAsked = "sql.asked" in Step;
    /// The first statement of a batch is done. SQLite's thread runs on: the batch may be further.
    SqlBegun = "sql.begun" in Step;
    /// All but COMMIT is done. SQLite's thread runs on: COMMIT may be under way.
    SqlBeforeCommit = "sql.before_commit" in Step;
    /// COMMIT is done; nobody was told.
    SqlCommitted = "sql.committed" in AfterCommit;

    /// A MiniApp is about to be started.
    ReconcileLaunching = "reconcile.launching" in Step;
    /// A MiniApp was started and has not been reported.
    ReconcileLaunched = "reconcile.launched" in Step;
    /// Work was handed to a MiniApp.
    ReconcileHanded = "reconcile.handed" in Step;
    /// A MiniApp was told of its inbox.
    ReconcileInbox = "reconcile.inbox" in Step;
    /// A Host session was told what to show.
    ReconcileHostTold = "reconcile.host_told" in Step;

    /// An instance's start begins in its process.
    InprocessLaunch = "inprocess.launch" in Step;
    /// A handler is about to run.
    InprocessHandling = "inprocess.handling" in Step;
    /// A handler has ended; nobody knows.
    InprocessHandled = "inprocess.handled" in Step;

    /// A Host's frame was decoded.
    WebReportRead = "web.report_read" in Step;
    /// A Host's report was taken in and is about to be answered.
    WebReportTaken = "web.report_taken" in Step;
    /// A view was written to a Host.
    WebViewWritten = "web.view_written" in Step;
    /// A UI Action was decoded.
    WebActionRead = "web.action_read" in Step;
    /// A UI Action was taken in and is about to be answered.
    WebActionTaken = "web.action_taken" in Step;
}

/// The process passes a point.
#[cfg(not(feature = "armed"))]
#[inline(always)]
pub const fn hit(_: Point) {}

#[cfg(feature = "armed")]
pub use armed::hit;

/// Whether this build sends before it commits, so that a proof can show that it would notice.
#[must_use]
pub const fn sends_before_commit() -> bool {
    cfg!(feature = "control")
}

#[cfg(feature = "armed")]
mod armed {
    use std::{
        fs::File,
        io::Write as _,
        sync::{
            LazyLock,
            atomic::{AtomicU64, Ordering},
        },
    };

    use crate::Point;

    struct Plan {
        /// Where to end, and how often the point is to be hit until then.
        kill: Option<(Point, AtomicU64)>,
        list: Option<File>,
    }

    static PLAN: LazyLock<Plan> = LazyLock::new(|| Plan {
        kill: std::env::var("LINEUP_FAILPOINT").ok().map(|text| {
            let (name, hits) = text.rsplit_once(':').unwrap_or((&text, "1"));
            let point = Point::ALL.iter().copied().find(|point| point.name() == name);
            // A proof that arms a point that is not there must not pass.
            let point = point.unwrap_or_else(|| panic!("LINEUP_FAILPOINT: there is no point `{name}`"));
            let hits = hits.parse().unwrap_or_else(|_| panic!("LINEUP_FAILPOINT: `{hits}` is no number of hits"));
            (point, AtomicU64::new(hits))
        }),
        list: std::env::var_os("LINEUP_FAILPOINT_LIST")
            .map(|path| File::options().append(true).create(true).open(path).expect("the list can be written")),
    });

    /// The process passes a point.
    pub fn hit(point: Point) {
        let plan = &*PLAN;
        if let Some(mut list) = plan.list.as_ref() {
            list.write_all(format!("{}\n", point.name()).as_bytes()).expect("the list can be written");
        }
        if let Some((armed, left)) = &plan.kill
            && *armed == point
            && left.fetch_sub(1, Ordering::SeqCst) == 1
        {
            // Nothing of this process runs after it: no destructor, no flush, no other thread.
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                .expect("a process may kill itself");
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::Point;

    /// The points that the code of the repository hits.
    fn hit_in(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                let name = path.file_name().unwrap_or_default();
                if name != "target" && name != "failpoint" && name != ".git" {
                    hit_in(&path, found);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let hits = text.contains("lineup_failpoint::{Point, hit}");
                for rest in text.split("Point::").skip(1).filter(|_| hits) {
                    found.insert(rest.chars().take_while(char::is_ascii_alphanumeric).collect());
                }
            }
        }
    }

    #[test]
    fn every_point_of_the_list_is_hit_by_some_line_of_the_product() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = BTreeSet::new();
        for folder in ["crates", "hosts"] {
            hit_in(&root.join(folder), &mut found);
        }
        let listed: BTreeSet<String> = Point::ALL.iter().map(|point| format!("{point:?}")).collect();
        assert_eq!(found, listed);
    }

    #[test]
    fn names_are_two_plain_words_and_no_two_points_share_one() {
        let names: BTreeSet<&str> = Point::ALL.iter().map(|point| point.name()).collect();
        assert_eq!(names.len(), Point::ALL.len());
        for name in names {
            let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(name.split_once('.').is_some_and(|(a, b)| plain(a) && plain(b)), "{name}");
        }
    }
}
