//! The table of what was measured, with the gates that it is held to.

use serde_json::json;

/// What a figure is held to.
#[derive(Clone, Copy)]
pub enum Gate {
    /// Not below this.
    AtLeast(f64),
    /// Not above this.
    AtMost(f64),
}

/// One figure.
pub struct Row {
    goal: &'static str,
    what: &'static str,
    value: f64,
    unit: &'static str,
    gate: Option<Gate>,
}

impl Row {
    /// A figure that is only shown.
    pub const fn shown(goal: &'static str, what: &'static str, value: f64, unit: &'static str) -> Self {
        Self { goal, what, value, unit, gate: None }
    }

    /// A figure that is held to a gate.
    pub const fn gated(goal: &'static str, what: &'static str, value: f64, unit: &'static str, gate: Gate) -> Self {
        Self { goal, what, value, unit, gate: Some(gate) }
    }

    fn met(&self) -> bool {
        match self.gate {
            None => true,
            Some(Gate::AtLeast(least)) => self.value >= least,
            Some(Gate::AtMost(most)) => self.value <= most,
        }
    }
}

/// Prints the rows and answers how many gates were missed.
pub fn print(rows: &[Row], machine: bool) -> usize {
    for row in rows {
        let gate = match row.gate {
            None => String::new(),
            Some(Gate::AtLeast(least)) => format!(">= {least}"),
            Some(Gate::AtMost(most)) => format!("<= {most}"),
        };
        if machine {
            let line = json!({ "goal": row.goal, "what": row.what, "value": row.value, "unit": row.unit, "gate": gate,
                "met": row.met() });
            println!("{line}");
        } else {
            let verdict = if row.gate.is_none() {
                ""
            } else if row.met() {
                "met"
            } else {
                "MISSED"
            };
            println!("{:4} {:42} {:>10.3} {:8} {:>8} {verdict}", row.goal, row.what, row.value, row.unit, gate);
        }
    }
    rows.iter().filter(|row| !row.met()).count()
}

/// The middle of the values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
