use std::path::Path;

use bytes::Bytes;

use crate::decode::{self, RawAnswer, Reading};
use crate::definition::catalog::{Catalog, DefinitionFile, DefinitionKind};
use crate::definition::dataset::Dataset;
use crate::model::outcome::Judgement;
use crate::report::exit::Exit;
use crate::report::number::counted;
use crate::report::output::printable;

use super::args::DatasetsCommand;
use super::error::CliError;
use super::setup::Setup;
use super::terminal::Terminal;

pub fn run(command: &DatasetsCommand, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(Vec::new()))?;
    match command {
        DatasetsCommand::List => terminal.print(&list(&setup.catalog)),
        DatasetsCommand::Show { dataset } => terminal.print(&show(setup.dataset(dataset)?)),
        DatasetsCommand::Check { file } => check(&setup, file.as_deref(), terminal),
        DatasetsCommand::Try { dataset, file, status } => {
            let body =
                std::fs::read(file).map_err(|error| CliError::usage(format!("`{}` cannot be read: {error}", file.display())))?;
            terminal.print(&tried(&setup, setup.dataset(dataset)?, body.into(), *status))
        }
    }
}

fn list(catalog: &Catalog) -> String {
    let width = catalog.datasets().map(|dataset| dataset.id.as_str().len()).max().unwrap_or(0);
    let line = |dataset: &Dataset| {
        let axes = dataset.axes.iter().map(|axis| axis.id.as_str()).collect::<Vec<_>>().join(" × ");
        let korean = dataset.title_ko.as_deref().map(|title| format!(" ({title})")).unwrap_or_default();
        format!("{:<width$}  {}  {axes}  {}{korean}\n", dataset.id, dataset.provider, dataset.title)
    };
    let mut text: String = catalog.datasets().map(|dataset| line(dataset)).collect();
    text.push_str("next: gapless datasets show DATASET\n");
    text
}

fn show(dataset: &Dataset) -> String {
    let mut text = format!("{}: {}\n", dataset.id, dataset.title);
    for (name, value) in [("korean", &dataset.title_ko), ("source", &dataset.source)] {
        if let Some(value) = value {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    text.push_str(&format!("provider: {}\npage size: {}\naxes:\n", dataset.provider, dataset.page_size()));
    for axis in &dataset.axes {
        let first = axis.first.map(|first| format!(", from {first}")).unwrap_or_default();
        let list = axis.list.as_ref().map(|list| format!(", codes of {list}")).unwrap_or_default();
        text.push_str(&format!("  {}{first}{list}\n", axis.id));
    }
    text.push_str("columns:\n");
    let width = dataset.columns.iter().map(|column| column.id.as_str().len()).max().unwrap_or(0);
    for column in &dataset.columns {
        let unit = column.unit.as_deref().map(|unit| format!(" [{unit}]")).unwrap_or_default();
        let korean = column.label_ko.as_deref().map(|label| format!(" ({label})")).unwrap_or_default();
        let label = column.label.as_deref().unwrap_or_default();
        text.push_str(&format!("  {:<width$}  {:<7}  {label}{unit}{korean}\n", column.id, column.kind.as_str()));
    }
    text.push_str(&format!("next: gapless collect {} --months last:3 --regions all --dry-run\n", dataset.id));
    text
}

fn check(setup: &Setup, file: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let Some(path) = file else {
        let datasets = counted(setup.catalog.datasets().count() as u64, "dataset");
        let providers = counted(setup.catalog.providers().count() as u64, "provider");
        let mut text = format!("{datasets}, {providers}: all valid\n");
        for file in setup.catalog.shadowed() {
            text.push_str(&format!("{} stands in front of a shipped definition\n", file.display()));
        }
        text.push_str("next: gapless datasets list\n");
        return terminal.print(&text);
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::usage(format!("`{}` cannot be read: {error}", path.display())))?;
    let kind = kind_of(path);
    setup.catalog.with_file(DefinitionFile { path: path.to_owned(), text, kind })?;
    terminal.print(&format!(
        "{}: valid\nnext: put it below {}/{}/\n",
        path.display(),
        setup.settings.definitions.display(),
        kind.folder()
    ))
}

/// What a definition file is: its folder says so, else it is a dataset.
fn kind_of(path: &Path) -> DefinitionKind {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    DefinitionKind::ALL.into_iter().find(|kind| kind.folder() == folder).unwrap_or(DefinitionKind::Dataset)
}

fn tried(setup: &Setup, dataset: &Dataset, body: Bytes, status: u16) -> String {
    let provider = setup.provider_of(dataset);
    let dialect = setup.catalog.dialect(&provider.dialect).expect("checked with the definitions");
    let answer = RawAnswer { status, content_type: None, retry_after: None, body };
    let judgement = decode::judge(&answer, dialect, &Reading { records: &dataset.records, volatile: &dataset.volatile });
    let mut text = format!("outcome: {}\n", judgement.outcome());
    match &judgement {
        Judgement::Page(page) | Judgement::Empty(page) => {
            let total = page.total.map_or("not told".to_owned(), |total| total.to_string());
            text.push_str(&format!("rows: {}\ntotal: {total}\n", page.rows()));
            if let Some(code) = &page.code {
                text.push_str(&format!("code: {code}\n"));
            }
            let declared = |name: &str| {
                dataset.columns.iter().any(|column| column.field == name || column.aliases.iter().any(|alias| alias == name))
            };
            let mut unknown: Vec<&str> =
                page.records.iter().flat_map(|record| record.fields()).map(|field| field.name()).collect();
            unknown.retain(|name| !declared(name));
            unknown.sort_unstable();
            unknown.dedup();
            if !unknown.is_empty() {
                text.push_str(&format!("not declared, kept in _extra: {}\n", printable(&unknown.join(", "))));
            }
        }
        Judgement::Trouble(trouble) => {
            text.push_str(&format!("scope: {}\n", trouble.scope));
            if let Some(code) = &trouble.code {
                text.push_str(&format!("code: {}\n", printable(code)));
            }
            text.push_str(&format!("why: {}\n", printable(&trouble.why)));
            if let Some(hint) = &trouble.hint {
                text.push_str(&format!("hint: {hint}\n"));
            }
        }
    }
    text
}
