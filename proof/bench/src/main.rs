//! Measures the product against its floor: the same work by the thinnest client of the same
//! database, in the same run, taking turns. Ratios are what counts; times are this machine's.

mod floor;
mod product;
mod store;
mod table;

use std::{fs, path::PathBuf};

use clap::Parser;
use lineup_sql::CounterValues;

use crate::table::{Gate, Row, median};

/// What `lineup` allocates with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures LineUp against the floor of its database.
#[derive(Parser)]
struct Arguments {
    /// Where the databases are written; should be on the disk that matters.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// How often floor and product take turns.
    #[arg(long, default_value_t = 8)]
    turns: u32,
    /// Calls per turn, by 64 callers.
    #[arg(long, default_value_t = 64 * 40)]
    calls: u32,
    /// Calls per turn, one after the other.
    #[arg(long, default_value_t = 200)]
    sequential: u32,
    /// Print one line of JSON per row.
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    // Callers are tasks like those of a relay; outside of the executor each step would cross threads.
    tokio::spawn(measure(Arguments::parse())).await?
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn measure(arguments: Arguments) -> Result<(), Failure> {
    let directory = match &arguments.directory {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let at = |name: &str| directory.path().join(name);
    let mut floor = floor::Floor::create(&at("floor.sqlite"), 560, 240)?;
    let mut alone = store::Alone::create(&at("store")).await;
    let mut product = product::Product::create(&at("product")).await;

    let (turns, batches) = (arguments.turns, arguments.calls / 64);
    let (mut floor_one, mut alone_one, mut receipts, mut outcomes, mut repeats) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut floor_many, mut alone_many, mut product_many) = (0.0, 0.0, 0.0);
    let (mut one_by_one, mut together) = (Counted::default(), Counted::default());
    let (mut floor_cpu, mut alone_cpu, mut product_cpu) = (0.0, 0.0, 0.0);
    for turn in 0..turns {
        eprint!("\rturn {} of {turns}", turn + 1);
        for _ in 0..arguments.sequential {
            floor_one.push(floor.lifecycle(1)?.1);
        }
        for _ in 0..arguments.sequential {
            let one = alone.decide(1);
            alone_one.push(alone.lifecycle(one).await.1);
        }
        let before = product.counters();
        for (receipt, outcome) in product.sequential(arguments.sequential.into()).await {
            receipts.push(receipt);
            outcomes.push(outcome);
        }
        one_by_one.add(before, product.counters());
        let before = product.counters();
        repeats.extend(product.repeats(arguments.sequential.into()).await);
        assert_eq!(product.counters().commits, before.commits, "G6: a repeat writes nothing");
        let decided: Vec<_> = (0..batches).map(|_| alone.decide(64)).collect();
        let start = processor_seconds();
        for _ in 0..batches {
            floor_many += floor.lifecycle(64)?.1;
        }
        let floored = processor_seconds();
        for batch in decided {
            alone_many += alone.lifecycle(batch).await.1;
        }
        let stored = processor_seconds();
        let before = product.counters();
        product_many += product.concurrent(64, u64::from(batches) * 64).await;
        floor_cpu += floored - start;
        alone_cpu += stored - floored;
        product_cpu += processor_seconds() - stored;
        together.add(before, product.counters());
    }
    eprintln!("\r                ");

    let many = f64::from(turns * batches * 64);
    let one = f64::from(turns * arguments.sequential);
    let rate = |micros: f64| many / micros * 1e6;
    let (r1, r64) = (median(floor_one), rate(floor_many));
    let (g3, receipt, replay) = (median(outcomes), median(receipts), median(repeats));

    // Everything that was asked for is there: a fast product that lost a row would not be fast.
    let all = i64::from(turns * (batches * 64 + arguments.sequential));
    assert_eq!(floor.rows()?, (all * 2, all, 0));
    assert_eq!(alone.calls(), u64::try_from(all)?);
    assert_eq!(product.calls().await, (u64::try_from(all)? + 1, u64::try_from(all)? + 1));
    let size = |name: &str| fs::metadata(at("product").join(name)).map_or(0.0, |data| data.len() as f64);
    let log = size("lineup.sqlite-wal");
    product.stop().await;
    let bytes = size("lineup.sqlite") / (all as f64);

    let rows = vec![
        Row::shown("R1", "two raw commits in a row, p50", r1, "us"),
        Row::shown("R64", "raw lifecycles in batches of 64", r64, "calls/s"),
        Row::shown("", "the store alone, two commits, p50", median(alone_one) / r1, "of R1"),
        Row::shown("", "the store alone, batches of 64", rate(alone_many) / r64, "of R64"),
        Row::gated(
            "G1",
            "durable calls by 64 callers, in process",
            rate(product_many) / r64,
            "of R64",
            Gate::AtLeast(0.40),
        ),
        Row::gated("G3", "accept to result, one caller, p50", g3 / r1, "of R1", Gate::AtMost(1.8)),
        Row::gated("G5", "durable receipt", receipt / g3, "of G3", Gate::AtMost(0.6)),
        Row::gated("G6", "repeat of a finished call", replay / r1, "of R1", Gate::AtMost(0.15)),
        Row::gated("G11", "bytes per call in the database", bytes, "bytes", Gate::AtMost(1_000.0)),
        Row::shown("", "log at the end", log, "bytes"),
        Row::shown("", "processor per call, batches of 64: floor", floor_cpu / many * 1e6, "us"),
        Row::shown("", "processor per call: store alone", alone_cpu / many * 1e6, "us"),
        Row::shown("", "processor per call: product, 64 callers", product_cpu / many * 1e6, "us"),
        Row::gated("G12", "commits per call, 64 callers", together.commits / many, "", Gate::AtMost(0.15)),
        Row::gated("G12", "commits per call, one caller", one_by_one.commits / one, "", Gate::AtMost(2.0)),
        Row::gated("G12", "write queries per batch", one_by_one.writes / one_by_one.commits, "", Gate::AtMost(1.0)),
        Row::gated(
            "G12",
            "reader queries per batch, one caller",
            one_by_one.reads / one_by_one.commits,
            "",
            Gate::AtMost(1.0),
        ),
        Row::gated(
            "G12",
            "reader queries per batch, 64 callers",
            together.reads / together.commits,
            "",
            Gate::AtMost(1.0),
        ),
    ];
    let missed = table::print(&rows, arguments.json);
    if missed > 0 {
        eprintln!("{missed} of the gates missed");
        std::process::exit(1);
    }
    Ok(())
}

/// What the product's store did in the measured stretches.
#[derive(Default)]
struct Counted {
    commits: f64,
    writes: f64,
    reads: f64,
}

impl Counted {
    fn add(&mut self, before: CounterValues, after: CounterValues) {
        self.commits += (after.commits - before.commits) as f64;
        self.writes += (after.write_queries - before.write_queries) as f64;
        self.reads += (after.reader_queries - before.reader_queries) as f64;
    }
}

/// What this process has used of the processor, user and system: unlike time it hardly depends on
/// who else is busy. 0 where the system does not tell.
fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in the second field may hold spaces; the fields after it are counted from 3.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    (ticks(14) + ticks(15)) / 100.0
}
