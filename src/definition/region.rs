use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::model::name::Name;

use super::error::DefinitionError;

/// A dated list of regions, in the order of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionList {
    pub id: Name,
    /// The day the list was true, from its comment `# as_of: …`.
    pub as_of: Option<String>,
    regions: Vec<Region>,
    by_code: BTreeMap<String, usize>,
}

/// One region of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub code: String,
    /// From the widest to the narrowest: province, district.
    pub names: Vec<String>,
    pub valid_from: Option<String>,
    /// First day the code is no longer current.
    pub valid_to: Option<String>,
    pub kind: RegionKind,
    /// The codes to ask instead: a parent's districts, a retired code's heirs.
    pub successors: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// Asked.
    Leaf,
    /// A wider region whose parts are asked.
    Parent,
    /// No longer in use; never asked again.
    Retired,
}

impl RegionKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Leaf => "leaf",
            Self::Parent => "parent",
            Self::Retired => "retired",
        }
    }
}

/// Why regions cannot be chosen. The hint of each is in its text: the codes to use instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    #[error("`{code}` is no region of `{list}`{}", nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default())]
    Unknown { code: String, list: Name, nearest: Option<String> },
    #[error("region {code} ({name}) is divided into districts; ask for {}", successors.join(", "))]
    Parent { code: String, name: String, successors: Vec<String> },
    #[error("region {code} ({name}) was retired on {since}; its history is filed under {}", successors.join(", "))]
    Retired { code: String, name: String, since: String, successors: Vec<String> },
    #[error("no region of `{list}` is in province `{sido}`")]
    UnknownSido { sido: String, list: Name },
    #[error("the list of regions is empty")]
    Empty,
    #[error("region file `{file}` cannot be read: {why}")]
    Unreadable { file: String, why: String },
}

#[derive(Deserialize)]
struct Row {
    code: String,
    sido: String,
    sigungu: String,
    valid_from: Option<String>,
    valid_to: Option<String>,
    kind: RegionKind,
    successors: String,
}

/// Digits of a province: the first of the codes of its districts.
const PROVINCE: usize = 2;

impl RegionList {
    /// Reads a list: CSV with a header line, comments begin with `#`.
    ///
    /// Errors: a malformed line, a code twice, a retired code or parent without successors, an unknown successor.
    pub fn from_csv(id: Name, text: &str, file: &Path) -> Result<Self, DefinitionError> {
        let invalid = |problem: String| DefinitionError::Invalid { file: file.to_owned(), problem };
        let as_of = text.lines().find_map(|line| line.strip_prefix("# as_of:")).map(|rest| {
            let date = rest.trim_start().split([' ', '.', ';']).next().unwrap_or_default();
            date.to_owned()
        });
        let mut list = Self { id, as_of, regions: Vec::new(), by_code: BTreeMap::new() };
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
        for row in reader.deserialize::<Row>() {
            let row = row.map_err(|error| DefinitionError::Syntax { file: file.to_owned(), message: error.to_string() })?;
            let known = |text: Option<String>| text.filter(|text| !text.is_empty());
            let region = Region {
                names: [row.sido, row.sigungu].into_iter().filter(|name| !name.is_empty()).collect(),
                valid_from: known(row.valid_from),
                valid_to: known(row.valid_to),
                kind: row.kind,
                successors: row.successors.split_whitespace().map(str::to_owned).collect(),
                code: row.code,
            };
            if list.by_code.insert(region.code.clone(), list.regions.len()).is_some() {
                return Err(invalid(format!("region {} stands in it twice", region.code)));
            }
            list.regions.push(region);
        }
        for region in &list.regions {
            if region.kind != RegionKind::Leaf && region.successors.is_empty() {
                return Err(invalid(format!("region {} is not a leaf and names no successors", region.code)));
            }
            if let Some(unknown) = region.successors.iter().find(|code| !list.by_code.contains_key(*code)) {
                return Err(invalid(format!("region {} names a successor {unknown} that is not in the list", region.code)));
            }
            if list.goes_round(region) {
                return Err(invalid(format!("the successors of region {} lead back to itself", region.code)));
            }
        }
        Ok(list)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Region> {
        self.regions.iter()
    }

    pub fn get(&self, code: &str) -> Option<&Region> {
        self.by_code.get(code).map(|&position| &self.regions[position])
    }

    /// The codes a LIST names: codes, `all`, `sido:11`, `@FILE`, joined by commas; each once, in the order of the list.
    ///
    /// `read_file` gives the text of a file: codes separated by white space or commas, `#` begins a comment.
    pub fn select(&self, list: &str, read_file: impl Fn(&str) -> std::io::Result<String>) -> Result<Vec<String>, RegionError> {
        let mut chosen = std::collections::BTreeSet::new();
        for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if part == "all" {
                chosen.extend(self.leaves().map(|(position, _)| position));
            } else if let Some(sido) = part.strip_prefix("sido:") {
                let within = self.leaves().filter(|(_, region)| sido.len() == PROVINCE && region.code.starts_with(sido));
                let within: Vec<usize> = within.map(|(position, _)| position).collect();
                if within.is_empty() {
                    return Err(RegionError::UnknownSido { sido: sido.to_owned(), list: self.id.clone() });
                }
                chosen.extend(within);
            } else if let Some(file) = part.strip_prefix('@') {
                let text =
                    read_file(file).map_err(|error| RegionError::Unreadable { file: file.to_owned(), why: error.to_string() })?;
                let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
                for code in lines.flat_map(|line| line.split([',', ' ', '\t', '\r'])).filter(|code| !code.is_empty()) {
                    chosen.insert(self.leaf(code)?);
                }
            } else {
                chosen.insert(self.leaf(part)?);
            }
        }
        if chosen.is_empty() {
            return Err(RegionError::Empty);
        }
        Ok(chosen.into_iter().map(|position| self.regions[position].code.clone()).collect())
    }

    /// The codes to ask today instead of `code`, through every change.
    pub fn current_codes(&self, code: &str) -> Vec<String> {
        let Some(region) = self.get(code) else { return Vec::new() };
        if region.kind == RegionKind::Leaf {
            return vec![region.code.clone()];
        }
        let mut codes: Vec<String> = region.successors.iter().flat_map(|successor| self.current_codes(successor)).collect();
        codes.sort();
        codes.dedup();
        codes
    }

    /// Whether a region is among its own heirs.
    fn goes_round(&self, region: &Region) -> bool {
        let mut open: Vec<&String> = region.successors.iter().collect();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(code) = open.pop() {
            if *code == region.code {
                return true;
            }
            if seen.insert(code) {
                open.extend(
                    self.get(code).into_iter().filter(|heir| heir.kind != RegionKind::Leaf).flat_map(|heir| &heir.successors),
                );
            }
        }
        false
    }

    fn leaves(&self) -> impl Iterator<Item = (usize, &Region)> {
        self.regions.iter().enumerate().filter(|(_, region)| region.kind == RegionKind::Leaf)
    }

    fn leaf(&self, code: &str) -> Result<usize, RegionError> {
        let Some(&position) = self.by_code.get(code) else {
            let nearest = self.leaves().find(|(_, region)| region.names.last().is_some_and(|name| name == code));
            let nearest = nearest.map(|(_, region)| format!("{} ({})", region.code, region.names.join(" ")));
            return Err(RegionError::Unknown { code: code.to_owned(), list: self.id.clone(), nearest });
        };
        let region = &self.regions[position];
        let (code, name, successors) = (region.code.clone(), region.names.join(" "), self.current_codes(code));
        match region.kind {
            RegionKind::Leaf => Ok(position),
            RegionKind::Parent => Err(RegionError::Parent { code, name, successors }),
            RegionKind::Retired => {
                let since = region.valid_to.clone().unwrap_or_else(|| "an unknown day".to_owned());
                Err(RegionError::Retired { code, name, since, successors })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# as_of: 2026-08-13. A list for tests.\n\
        code,sido,sigungu,valid_from,valid_to,kind,successors\n\
        11110,서울,종로구,,,leaf,\n\
        11140,서울,중구,,,leaf,\n\
        41110,경기,수원시,,,parent,41111\n\
        41111,경기,수원시 장안구,,,leaf,\n\
        42110,강원,춘천시,,2023-06-11,retired,51110\n\
        51110,강원,춘천시,2023-06-11,,leaf,\n";

    fn list() -> RegionList {
        RegionList::from_csv(Name::literal("lawd_cd"), LIST, Path::new("lawd_cd.csv")).unwrap()
    }

    fn read_file(file: &str) -> std::io::Result<String> {
        match file {
            "codes.txt" => Ok("51110 # Chuncheon\n11140,11110\r\n".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    #[test]
    fn a_list_names_codes_provinces_files_or_all_and_each_once() {
        let check = |text: &str, codes: &[&str]| assert_eq!(list().select(text, read_file).unwrap(), codes, "{text}");
        check("all", &["11110", "11140", "41111", "51110"]);
        check("sido:11", &["11110", "11140"]);
        check("51110,11110,11110", &["11110", "51110"]);
        check("@codes.txt", &["11110", "11140", "51110"]);
        check("sido:11,41111", &["11110", "11140", "41111"]);
        check("sido:11,sido:11,11110", &["11110", "11140"]);
    }

    #[test]
    fn parents_retired_and_unknown_codes_are_refused_with_the_codes_to_use() {
        let check = |text: &str, part: &str| {
            let error = list().select(text, read_file).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        };
        check("41110", "ask for 41111");
        check("42110", "retired on 2023-06-11; its history is filed under 51110");
        check("99999", "`99999` is no region of `lawd_cd`");
        check("중구", "did you mean 11140 (서울 중구)?");
        check("sido:99", "no region of `lawd_cd` is in province `99`");
        check("sido:", "no region");
        check(" , ", "empty");
        // Not every province that begins so.
        check("sido:1", "no region of `lawd_cd` is in province `1`");
        check("@gone.txt", "`gone.txt` cannot be read: entity not found");
    }

    #[test]
    fn a_list_knows_its_day() {
        assert_eq!(list().as_of.as_deref(), Some("2026-08-13"));
    }

    #[test]
    fn a_list_whose_successors_go_round_is_refused() {
        let text = LIST.replace("51110,강원,춘천시,2023-06-11,,leaf,", "51110,강원,춘천시,2023-06-11,,retired,42110");
        let error = RegionList::from_csv(Name::literal("lawd_cd"), &text, Path::new("lawd_cd.csv")).unwrap_err();
        assert!(error.to_string().contains("lead back to itself"), "{error}");
    }

    #[test]
    fn a_list_with_a_dangling_successor_is_refused() {
        let text = LIST.replace("retired,51110", "retired,51111");
        let error = RegionList::from_csv(Name::literal("lawd_cd"), &text, Path::new("lawd_cd.csv")).unwrap_err();
        assert_eq!(error.to_string(), "`lawd_cd.csv`: region 42110 names a successor 51111 that is not in the list");
    }
}
