use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::path::Path;

use crate::report::exit::Exit;
use crate::report::result::RunResult;
use crate::sandbox::{Portal, Scenario};
use crate::settings::key::variable;
use crate::settings::resolved::{Files, LogFormat};
use crate::store::cell::Cell;
use crate::store::url::{StoreUrl, StoreUrlError};
use crate::store::{OpenMode, Store};

use super::args::{Cli, CollectArgs, Command, DemoArgs};
use super::collect::{collect, tell};
use super::error::CliError;
use super::setup::{Setup, refuse_password};
use super::terminal::{Format, Terminal};

const DATABASE: &str = "gapless-demo.db";
/// What a user would type; the demo runs exactly these.
const FIRST: &str = "gapless collect apt_trade --months 2024-01..2024-06 --regions @REGIONS --concurrency 6 --rps 30";
const SECOND: &str = "gapless collect apt_trade --months 2024-01..2024-06 --regions @REGIONS --only failed";
/// Twenty districts, one of them without a deal in any month.
const REGIONS: &str = "11110,11140,11170,11200,11215,11230,11260,11290,11305,11320,11350,11380,11410,11440,11470,11500,11530,\
    11545,11680,28720";
/// The partition whose request the portal never understands, while the fault lasts.
const GAP: &str = "region=11680,month=2024-03";
/// Not a secret: the practice portal's.
const KEY: &str = "practice+key/for=the=demo==";

const QUERIES: [(&str, &str); 3] = [
    (
        "which partitions are whole, and how many rows they have",
        "select verdict, count(*) as partitions, sum(rows) as rows from coverage group by verdict order by verdict",
    ),
    (
        "average price by month, in 10,000 won, cancelled deals left out",
        "select month, count(*) as deals, round(avg(deal_amount)) as average from apt_trade where cdeal_type is null \
         group by month order by month",
    ),
    (
        "the calls that did not bring a page, and why",
        "select outcome, why, count(*) as calls from attempt where outcome not in ('page', 'empty') group by outcome, why \
         order by calls desc, why limit 6",
    ),
];

/// Plays the whole story: a bad night at a portal, one gap that stays, and how it is mended.
pub async fn run(args: &DemoArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    terminal.start_log(LogFormat::Text);
    let url = place(args).await?;
    terminal.print(
        "This is a practice portal on this machine: no key, no network. It plays a bad night: time-outs, cut transfers,\n\
         empty answers, a total that is wrong, and one request it never understands. Retry waits are shortened to 100 ms.\n\n",
    )?;
    let night = Scenario::named("demo").map_err(|error| CliError::usage(error.to_string()))?;
    let morning = Scenario { faults: Vec::new(), ..night.clone() };

    terminal.print(&format!("$ {FIRST}\n"))?;
    let (result, exit) = act(night, FIRST, &url, terminal).await?;
    check(exit == Exit::Incomplete && gap_keys(&result) == [GAP], "the first run leaves just one gap, and names it")?;

    terminal.print("\nThe portal has been mended meanwhile. Only what is missing is asked again:\n\n")?;
    terminal.print(&format!("$ {SECOND}\n"))?;
    let (result, exit) = act(morning, SECOND, &url, terminal).await?;
    check(exit == Exit::Whole && result.partitions.planned == 1, "the second run asks for the gap alone, and mends it")?;

    terminal.print(&format!("\nEverything is in {url}. Three questions to it:\n"))?;
    terminal.print(&answers(&url).await?)?;
    terminal.print("\nnext: gapless datasets list\n")
}

async fn act(scenario: Scenario, line: &str, url: &StoreUrl, terminal: &Terminal) -> Result<(RunResult, Exit), CliError> {
    let portal = Portal::start(scenario, (Ipv4Addr::LOCALHOST, 0).into()).await.map_err(|error| CliError {
        exit: Exit::LocalResource,
        what: error.to_string(),
        hint: None,
    })?;
    let flags = [
        ("providers.data_go_kr.base_url", portal.base_url()),
        ("providers.data_go_kr.concurrency", "6".to_owned()),
        ("providers.data_go_kr.rps", "30".to_owned()),
        ("retry.delay", "100ms".to_owned()),
        ("retry.error_pause", "100ms".to_owned()),
        ("store.url", url.to_string()),
    ];
    let provider = crate::model::name::Name::literal("data_go_kr");
    let environment = HashMap::from([
        (variable(&provider), KEY.to_owned()),
        // The story is told of the shipped definitions, whatever stands in the folder it is told in.
        ("GAPLESS__PATHS__DEFINITIONS".to_owned(), String::new()),
    ]);
    let setup = Setup::of(Files::default(), environment, |_| {
        Ok(flags.iter().map(|(path, value)| ((*path).to_owned(), value.clone(), "demo".to_owned())).collect())
    })?;
    let args = CollectArgs { store: Some(setup.settings.store.url.clone()), ..parsed(line) };
    let (result, exit) = collect(&args, &setup, terminal).await?;
    tell(&result, exit, Format::Text, terminal)?;
    Ok((result, exit))
}

fn parsed(line: &str) -> CollectArgs {
    let words = line.split(' ').map(|word| if word == "@REGIONS" { REGIONS } else { word });
    let cli = <Cli as clap::Parser>::try_parse_from(words).expect("the demo types what the program understands");
    match cli.command {
        Command::Collect(args) => args,
        Command::Init(_)
        | Command::Doctor(_)
        | Command::Status(_)
        | Command::Why(_)
        | Command::Accept(_)
        | Command::Audit(_)
        | Command::Replay(_)
        | Command::Store { .. }
        | Command::Demo(_)
        | Command::Datasets { .. }
        | Command::Config { .. }
        | Command::Probe { .. }
        | Command::Completions { .. }
        | Command::Man => unreachable!("the demo types `collect`"),
    }
}

fn gap_keys(result: &RunResult) -> Vec<String> {
    result.gaps.iter().map(|gap| gap.partition.key()).collect()
}

fn check(holds: bool, what: &str) -> Result<(), CliError> {
    if holds {
        return Ok(());
    }
    let error = CliError { exit: Exit::OwnFault, what: format!("the demo did not go as planned: {what}"), hint: None };
    Err(error.with_hint("run it again; if it fails twice, please report it with the output above"))
}

/// Where the story is stored: a file that is made anew each time, or a place of the user's in which nothing is.
async fn place(args: &DemoArgs) -> Result<StoreUrl, CliError> {
    let Some(text) = &args.store else {
        let url = StoreUrl::of_file(Path::new(DATABASE));
        if Store::exists(&url).await? && !is_of_a_demo(&url).await? {
            let error = CliError::usage(format!("`{DATABASE}` holds more than a demo, and the demo takes the place of nothing"));
            return Err(error.with_hint("move it away, or name another place with `--store URL`"));
        }
        remove_database()?;
        return Ok(url);
    };
    let url: StoreUrl = text.parse().map_err(|error: StoreUrlError| CliError::usage(error.to_string()))?;
    refuse_password(&url)?;
    if Store::exists(&url).await? {
        let error = CliError::usage(format!("there is a store at {url} already, and the demo takes the place of nothing"));
        return Err(error.with_hint("name another with `--store URL`"));
    }
    Ok(url)
}

/// Whether nothing but demos was ever stored there.
async fn is_of_a_demo(url: &StoreUrl) -> Result<bool, CliError> {
    let store = Store::open(url, OpenMode::OpenExisting).await?;
    let mut others = 0;
    store.select("select 1 from run where command not like '%demo%'", |_| others += 1).await?;
    store.close().await;
    Ok(others == 0)
}

fn remove_database() -> Result<(), CliError> {
    for suffix in ["", "-wal", "-shm"] {
        let file = format!("{DATABASE}{suffix}");
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(CliError::local(&format!("`{file}` cannot be removed"), error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

async fn answers(url: &StoreUrl) -> Result<String, CliError> {
    let store = Store::open(url, OpenMode::ReadOnly).await?;
    let mut text = String::new();
    for (question, sql) in QUERIES {
        let mut lines = Vec::new();
        let names = store.select(sql, |cells| lines.push(cells.iter().map(shown).collect::<Vec<_>>().join(" | "))).await?;
        text.push_str(&format!("\n-- {question}\n{sql};\n{}\n", names.join(" | ")));
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
    }
    Ok(text)
}

fn shown(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => crate::report::output::printable(text),
        Cell::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}
