//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args as Group, Parser, Subcommand, ValueEnum};

/// LineUp: a runtime that lets remote agents use MiniApps in front of you.
#[derive(Debug, Parser)]
#[command(
    name = "lineup",
    version,
    arg_required_else_help = true,
    after_long_help = "\
A first round, in three terminals:
  lineup serve                                       # the Runtime, with demo data; it prints the page's address
  lineup host attach                                 # a Host without a screen, instead of the page
  lineup agent call pomodoro.start '{\"minutes\": 20}'

Exit codes:
  0  done; for a call: its outcome is completed
  1  the call ended otherwise (failed, cancelled, expired, rejected), or the program broke
  2  the command line is wrong
  3  refused, with a stable code
  4  no Runtime is running there, or it cannot be reached
  5  the data folder or the address cannot be used: in use, damaged, open to others"
)]
pub struct Args {
    /// The data folder [env: LINEUP_DATA] [default: $XDG_DATA_HOME/lineup, else ~/.local/share/lineup].
    // `DataDir::find` reads the variable: for clap it would be an argument, so that `lineup` alone has no help.
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Print one line of JSON per fact.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the Runtime, its relay and its entries.
    #[command(after_help = "\
Examples:
  lineup serve
  lineup serve --demo-agent            # then: lineup user say 'start a 20 minute focus'
  lineup serve --data ./demo --listen 127.0.0.1:0 --json   # any free port; read it from the ready line

Ctrl-C stops it cleanly.")]
    Serve(Serve),
    /// Print an address that opens the page in a browser: good once, for ten minutes.
    Link,
    /// Play a remote agent: it sees only what an agent may see.
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Play the user, in Interact's own view.
    #[command(subcommand)]
    User(UserCommand),
    /// Play a Host: show what the Runtime says, report local facts.
    #[command(subcommand)]
    Host(HostCommand),
    /// Move a manual clock.
    #[command(subcommand, hide = true)]
    Clock(ClockCommand),
    /// Look into the running workspace.
    #[command(subcommand)]
    Inspect(InspectCommand),
    /// Tell the whole story of one call.
    #[command(after_help = "\
Examples:
  lineup trace call-1            # by the agent's own id, or by the Runtime's")]
    Trace {
        /// The agent's id of the call, or the Runtime's.
        call: String,
    },
    /// Set the workspace up.
    #[command(subcommand)]
    Setup(SetupCommand),
    /// Check the data folder and the machine, and say what to do.
    Doctor,
}

#[derive(Debug, Group)]
pub struct Serve {
    /// Where to listen: a loopback address; port 0 takes any free one.
    #[arg(long, default_value = "127.0.0.1:7310", value_name = "ADDR", value_parser = address)]
    pub listen: SocketAddr,
    /// Let a simple agent answer in `main`, as the agent `demo`: it keeps focus periods, without a language model.
    #[arg(long)]
    pub demo_agent: bool,
    /// Whose time it is.
    #[arg(long, hide = true, default_value = "system")]
    pub clock: ClockKind,
    /// Leave a MiniApp out; may be given several times.
    #[arg(long, hide = true, value_name = "APP")]
    pub without: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockKind {
    System,
    Manual,
}

#[derive(Debug, Group)]
pub struct As {
    /// Which agent to be.
    #[arg(long = "as", default_value = "demo", value_name = "AGENT")]
    pub agent: String,
    /// The conversation.
    #[arg(long, default_value = "main", value_name = "ID")]
    pub conversation: String,
}

#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// List the tools that this agent may call.
    Tools {
        #[command(flatten)]
        who: As,
    },
    /// Call a tool and follow it to its outcome.
    #[command(after_help = "\
Examples:
  lineup agent call pomodoro.start '{\"minutes\": 20}'
  lineup agent call pomodoro.start '{\"minutes\": 20}' --call-id c1 --json
  lineup agent call pomodoro.interrupt

With --json each line is one of
  {\"kind\":\"receipt\",\"stage\":\"starting\",\"seq\":1,…}
  {\"kind\":\"outcome\",\"status\":\"completed\",\"result\":{…},…}
  {\"kind\":\"refused\",\"code\":\"tool_not_advertised\",\"message\":\"…\",…}")]
    Call {
        /// The tool, such as pomodoro.start.
        tool: String,
        /// Its input, a JSON object.
        #[arg(default_value = "{}", value_name = "JSON")]
        input: String,
        /// The call's id; the same id with the same content is the same call.
        #[arg(long, value_name = "ID")]
        call_id: Option<String>,
        /// The inventory revision to name, instead of the current one.
        #[arg(long, value_name = "DIGEST")]
        revision: Option<String>,
        #[command(flatten)]
        who: As,
    },
    /// Ask for the latest word on a call, and follow it from there.
    Status {
        /// The call's id.
        call_id: String,
        #[command(flatten)]
        who: As,
    },
    /// Ask the Runtime to end a call, where its tool allows it.
    Cancel {
        /// The call's id.
        call_id: String,
        #[command(flatten)]
        who: As,
    },
    /// Say something in the conversation.
    Say {
        /// The words.
        text: String,
        #[command(flatten)]
        who: As,
    },
    /// Print what comes in: texts and inventories.
    Watch {
        #[command(flatten)]
        who: As,
    },
}

#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Say something to the agents of a conversation.
    #[command(after_help = "\
Examples:
  lineup user say 'Help me focus for 20 minutes'")]
    Say {
        /// The words.
        text: String,
        /// The conversation.
        #[arg(long, default_value = "main", value_name = "ID")]
        conversation: String,
        /// The id of the action; the same id is executed once.
        #[arg(long, value_name = "ID")]
        action_id: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum HostCommand {
    /// Connect as a Host without a screen and do what it is told, until Ctrl-C.
    #[command(after_help = "\
Examples:
  lineup host attach
  lineup host attach --withhold 3000 --wrong-attempt   # late, then wrong, then right
  lineup host attach --by-hand                         # each word on standard input is one act:
                                                       # confirm, confirm-wrong, fail, show, hide")]
    Attach(Attach),
    /// Report what the user did in the shell.
    Intent {
        #[command(subcommand)]
        intent: IntentCommand,
        /// The id of the intent; the same id changes nothing more.
        #[arg(long, global = true, value_name = "ID")]
        intent_id: Option<String>,
        /// The Host session that reports it.
        #[arg(long, global = true, value_name = "ID")]
        session: Option<String>,
    },
}

#[derive(Debug, Group)]
pub struct Attach {
    /// The session's id, the same after a reload.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Be out of the user's sight.
    #[arg(long)]
    pub hidden: bool,
    /// Confirm the foreground so many milliseconds late.
    #[arg(long, default_value_t = 0, value_name = "MS")]
    pub withhold: u64,
    /// Confirm an attempt that nobody asked for first.
    #[arg(long)]
    pub wrong_attempt: bool,
    /// Report that the instance cannot be shown.
    #[arg(long, conflicts_with = "wrong_attempt")]
    pub fail: bool,
    /// Never do the handshake of a Surface.
    #[arg(long)]
    pub no_surface: bool,
    /// Confirm nothing unasked; take words from standard input.
    #[arg(long, conflicts_with_all = ["withhold", "wrong_attempt", "fail"])]
    pub by_hand: bool,
}

#[derive(Debug, Subcommand)]
pub enum IntentCommand {
    /// The user went to Interact, or to another instance.
    Switch {
        /// Where to; without it, Interact.
        #[arg(long, value_name = "INSTANCE")]
        to: Option<String>,
    },
    /// The user went back.
    Back,
    /// The user closed an instance.
    Close {
        /// Which.
        instance: String,
    },
    /// The page or window is hidden.
    Hide,
    /// The screen is locked.
    Lock,
    /// The machine goes to sleep.
    Sleep,
    /// The machine, page or screen is back.
    Resume,
}

#[derive(Debug, Subcommand)]
pub enum ClockCommand {
    /// Let time pass.
    Advance {
        /// How much: 500ms, 30s, 20m, 2h.
        #[arg(value_parser = millis)]
        length: u64,
    },
}

#[derive(Debug, Subcommand)]
pub enum InspectCommand {
    /// The newest calls.
    Calls {
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// One call, by either id.
    Call {
        /// The agent's id of the call, or the Runtime's.
        id: String,
    },
    /// The running operations.
    Operations,
    /// The live instances and their activations.
    Instances,
    /// The focus stack.
    Focus,
    /// The messages that are to be sent.
    Outbox,
    /// The newest audit rows.
    Audit {
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// The App sessions of a conversation.
    Sessions {
        /// The conversation.
        #[arg(long, default_value = "main", value_name = "ID")]
        conversation: String,
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// What agents see.
    Inventories,
    /// The connected Hosts, the load, the counters.
    Status,
}

#[derive(Debug, Subcommand)]
pub enum SetupCommand {
    /// Create or change a conversation.
    Conversation {
        /// Its id.
        id: String,
        /// Its title.
        #[arg(long, default_value = "")]
        title: String,
        /// An agent in it; may be given several times. Who is not named is not in it.
        #[arg(long = "agent", value_name = "AGENT")]
        agents: Vec<String>,
    },
    /// Give an agent a credential.
    Agent {
        /// Its id.
        agent: String,
    },
    /// Pair a Host, or change what the paired Hosts can do.
    Pair {
        /// The Host's version.
        #[arg(long, default_value_t = 1)]
        version: u32,
        /// What it can do; may be given several times.
        #[arg(long = "feature", value_name = "NAME", default_values_t = ["surface".to_owned(), "notice".to_owned()])]
        features: Vec<String>,
    },
}

/// An address and a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an address and a port, such as 127.0.0.1:7311".to_owned())
}

/// A length of time in words of everyday.
fn millis(text: &str) -> Result<u64, String> {
    let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("write a length of time such as 500ms, 30s, 20m or 2h".to_owned()),
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "write a whole number before the unit".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        <Args as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_length_of_time_is_read() {
        for (text, expected) in [("500ms", 500), ("30s", 30_000), ("20m", 1_200_000), ("2h", 7_200_000), ("0s", 0)] {
            assert_eq!(millis(text), Ok(expected), "{text}");
        }
        for text in ["", "20", "m", "-1s", "1.5h", "20 m", "99999999999999999999s", "18446744073709551615h"] {
            assert!(millis(text).is_err(), "{text}");
        }
    }
}
