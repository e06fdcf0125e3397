//! Measures the product against its floor: the same work by the thinnest client of the same
//! database, in the same run, taking turns. Ratios are what counts; times are this machine's.

mod floor;
mod store;

use std::{fs, path::PathBuf};

use clap::Parser;

/// Measures LineUp against the floor of its database.
#[derive(Parser)]
struct Arguments {
    /// Where the databases are written; should be on the disk that matters.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// How often floor and product take turns.
    #[arg(long, default_value_t = 8)]
    turns: u32,
    /// Calls per turn.
    #[arg(long, default_value_t = 64 * 40)]
    calls: u32,
    /// Calls per turn, one after another.
    #[arg(long, default_value_t = 200)]
    singles: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let directory = match &arguments.directory {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let mut floor = floor::Floor::create(&directory.path().join("floor.sqlite"), 560, 240)?;
    let mut alone = store::Alone::create(&directory.path().join("store")).await;

    let (mut floor_one, mut alone_one, mut alone_receipt) = (Vec::new(), Vec::new(), Vec::new());
    let (mut floor_many, mut alone_many) = (0.0, 0.0);
    let (mut floor_cpu, mut alone_cpu) = (0.0, 0.0);
    let batches = arguments.calls / 64;
    for _ in 0..arguments.turns {
        for _ in 0..arguments.singles {
            floor_one.push(floor.lifecycle(1)?.1);
        }
        for _ in 0..arguments.singles {
            let one = alone.decide(1);
            let (receipt, both) = alone.lifecycle(one).await;
            alone_receipt.push(receipt);
            alone_one.push(both);
        }
        let decided: Vec<_> = (0..batches).map(|_| alone.decide(64)).collect();
        let start = processor_seconds();
        for _ in 0..batches {
            floor_many += floor.lifecycle(64)?.1;
        }
        let middle = processor_seconds();
        for batch in decided {
            alone_many += alone.lifecycle(batch).await.1;
        }
        floor_cpu += middle - start;
        alone_cpu += processor_seconds() - middle;
    }
    let calls = f64::from(arguments.turns * batches * 64);
    let (r64, store64) = (calls / floor_many * 1e6, calls / alone_many * 1e6);
    let (r1, store1, receipt1) = (median(floor_one), median(alone_one), median(alone_receipt));
    println!("R1 {r1:.0} us   store {store1:.0} us   ratio {:.2}", store1 / r1);
    println!("receipt {receipt1:.0} us   of both {:.2}", receipt1 / store1);
    println!("R64 {r64:.0} calls/s   store {store64:.0} calls/s   ratio {:.2}", store64 / r64);
    println!("processor per call: floor {:.1} us   store {:.1} us", floor_cpu / calls * 1e6, alone_cpu / calls * 1e6);
    let all = i64::from(arguments.turns * (batches * 64 + arguments.singles));
    assert_eq!(floor.rows()?, (all * 2, all, 0));
    assert_eq!(alone.calls(), u64::try_from(all)?);
    let size = |name: &str| fs::metadata(directory.path().join("store").join(name)).map(|data| data.len());
    println!("bytes per call in the database {:.0}", size("lineup.sqlite")? as f64 / all as f64);
    println!("{:?}", alone.store.counters());
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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
