use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::name::Name;

use super::builtin;
use super::check;
use super::dataset::Dataset;
use super::dialect::Dialect;
use super::error::DefinitionError;
use super::provider::Provider;
use super::region::RegionList;

/// Every definition in force: the shipped ones, and those of the user's folder in front of them.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    dialects: BTreeMap<Name, Arc<Dialect>>,
    providers: BTreeMap<Name, Arc<Provider>>,
    datasets: BTreeMap<Name, Arc<Dataset>>,
    regions: BTreeMap<Name, Arc<RegionList>>,
    shadowed: Vec<PathBuf>,
}

/// One definition file: its path as shown to the user, and its text.
#[derive(Clone, Debug)]
pub struct DefinitionFile {
    pub path: PathBuf,
    pub text: String,
    pub kind: DefinitionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    Dialect,
    Provider,
    Dataset,
    Regions,
}

/// Kind and id of a definition.
type Owner = (&'static str, Name);

impl DefinitionKind {
    pub const ALL: [Self; 4] = [Self::Dialect, Self::Provider, Self::Dataset, Self::Regions];

    /// Name of its folder, both in the program's `config/` and in the user's folder.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Dialect => "dialects",
            Self::Provider => "providers",
            Self::Dataset => "datasets",
            Self::Regions => "regions",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Dialect | Self::Provider | Self::Dataset => "toml",
            Self::Regions => "csv",
        }
    }
}

impl Catalog {
    /// The shipped definitions alone.
    pub fn builtin() -> Self {
        Self::of(builtin::files(), Vec::new()).expect("the shipped definitions are valid; a test loads them")
    }

    /// The shipped definitions with the files of the user's folder in front; a folder that is not there, or an empty path,
    /// adds nothing.
    pub fn with_folder(folder: &Path) -> Result<Self, DefinitionError> {
        Self::of(builtin::files(), user_files(folder)?)
    }

    /// A catalog of shipped files, shadowed by the user's.
    ///
    /// Errors: the first file that cannot be read as what its folder says, or that fits no other.
    pub fn of(shipped: Vec<DefinitionFile>, users: Vec<DefinitionFile>) -> Result<Self, DefinitionError> {
        let mut catalog = Self::default();
        let mut origin: BTreeMap<Owner, PathBuf> = BTreeMap::new();
        let shipped_count = shipped.len();
        for (position, file) in shipped.into_iter().chain(users).enumerate() {
            let id = catalog.add(&file)?;
            let earlier = origin.insert((file.kind.folder(), id), file.path.clone());
            if position >= shipped_count && earlier.is_some() {
                catalog.shadowed.push(file.path);
            }
        }
        match catalog.problems().into_iter().next() {
            Some((owner, problem)) => Err(DefinitionError::Invalid { file: origin[&owner].clone(), problem }),
            None => Ok(catalog),
        }
    }

    pub fn dialect(&self, id: &Name) -> Option<&Arc<Dialect>> {
        self.dialects.get(id)
    }

    pub fn provider(&self, id: &Name) -> Option<&Arc<Provider>> {
        self.providers.get(id)
    }

    pub fn dataset(&self, id: &str) -> Option<&Arc<Dataset>> {
        self.datasets.iter().find(|(name, _)| name.as_str() == id).map(|(_, dataset)| dataset)
    }

    pub fn regions(&self, id: &Name) -> Option<&Arc<RegionList>> {
        self.regions.get(id)
    }

    pub fn providers(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.providers.values()
    }

    pub fn datasets(&self) -> impl Iterator<Item = &Arc<Dataset>> {
        self.datasets.values()
    }

    pub fn region_lists(&self) -> impl Iterator<Item = &Arc<RegionList>> {
        self.regions.values()
    }

    /// The user's files that stand in front of shipped definitions.
    pub fn shadowed(&self) -> &[PathBuf] {
        &self.shadowed
    }

    /// What does not fit together, and whose it is.
    fn problems(&self) -> Vec<(Owner, String)> {
        let providers = self.providers.values().flat_map(|provider| {
            let owner = (DefinitionKind::Provider.folder(), provider.id.clone());
            check::provider_problems(provider, self).into_iter().map(move |problem| (owner.clone(), problem))
        });
        let datasets = self.datasets.values().flat_map(|dataset| {
            let owner = (DefinitionKind::Dataset.folder(), dataset.id.clone());
            check::dataset_problems(dataset, self).into_iter().map(move |problem| (owner.clone(), problem))
        });
        providers.chain(datasets).collect()
    }

    /// The catalog with one more file in front.
    ///
    /// Errors: as [`Catalog::of`].
    pub fn with_file(&self, file: DefinitionFile) -> Result<Self, DefinitionError> {
        let mut catalog = self.clone();
        catalog.add(&file)?;
        let problems = catalog.problems();
        first_problem(problems.into_iter().map(|(_, problem)| problem).collect(), &file.path)?;
        Ok(catalog)
    }

    fn add(&mut self, file: &DefinitionFile) -> Result<Name, DefinitionError> {
        let id = match file.kind {
            DefinitionKind::Dialect => {
                let dialect = Dialect::from_toml(&file.text)
                    .map_err(|error| DefinitionError::Invalid { file: file.path.clone(), problem: causes(&error) })?;
                let id = dialect.id.clone();
                self.dialects.insert(id.clone(), Arc::new(dialect));
                id
            }
            DefinitionKind::Provider => {
                let provider: Provider = read(file)?;
                let id = provider.id.clone();
                self.providers.insert(id.clone(), Arc::new(provider));
                id
            }
            DefinitionKind::Dataset => {
                let dataset: Dataset = read(file)?;
                let id = dataset.id.clone();
                self.datasets.insert(id.clone(), Arc::new(dataset));
                id
            }
            DefinitionKind::Regions => {
                let id = stem(file)?;
                let list = RegionList::from_csv(id.clone(), &file.text, &file.path)?;
                self.regions.insert(id.clone(), Arc::new(list));
                return Ok(id);
            }
        };
        if stem(file)? != id {
            let problem = format!("its id is `{id}`; a definition has the name of its file");
            return Err(DefinitionError::Invalid { file: file.path.clone(), problem });
        }
        Ok(id)
    }
}

/// An error with its causes, in one line but for the excerpt a TOML error brings.
fn causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", causes(source)),
        None => error.to_string().trim_end().to_owned(),
    }
}

fn read<T: serde::de::DeserializeOwned>(file: &DefinitionFile) -> Result<T, DefinitionError> {
    toml::from_str(&file.text)
        .map_err(|error| DefinitionError::Syntax { file: file.path.clone(), message: error.to_string().trim_end().to_owned() })
}

fn stem(file: &DefinitionFile) -> Result<Name, DefinitionError> {
    let stem = file.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.parse::<Name>()
        .map_err(|error| DefinitionError::Invalid { file: file.path.clone(), problem: format!("its file name: {error}") })
}

fn first_problem(problems: Vec<String>, file: &Path) -> Result<(), DefinitionError> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(DefinitionError::Invalid { file: file.to_owned(), problem: problems.join("; ") })
}

fn user_files(folder: &Path) -> Result<Vec<DefinitionFile>, DefinitionError> {
    let mut files = Vec::new();
    // Joined to an empty path, `datasets` would be one of whatever folder the program runs in.
    if folder.as_os_str().is_empty() {
        return Ok(files);
    }
    for kind in DefinitionKind::ALL {
        let below = folder.join(kind.folder());
        let unreadable = |source| DefinitionError::Unreadable { file: below.clone(), source };
        let entries = match std::fs::read_dir(&below) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(unreadable)?.path());
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension == kind.extension()));
        paths.sort();
        for path in paths {
            let text =
                std::fs::read_to_string(&path).map_err(|source| DefinitionError::Unreadable { file: path.clone(), source })?;
            files.push(DefinitionFile { path, text, kind });
        }
    }
    Ok(files)
}
