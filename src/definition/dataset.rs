use serde::{Deserialize, Serialize};

use crate::model::job::PageNumber;
use crate::model::month::Month;
use crate::model::name::Name;
use crate::model::partition::Partition;

use super::column::Column;
use super::template::Template;

/// One operation of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    pub id: Name,
    pub provider: Name,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub title_ko: Option<String>,
    /// Where the operation is described.
    #[serde(default)]
    pub source: Option<String>,
    /// Path of the operation below the provider's base URL.
    pub path: String,
    /// Query parameters of every call besides paging and key.
    #[serde(default)]
    pub params: Vec<Param>,
    pub axes: Vec<AxisDefinition>,
    pub paging: Paging,
    /// Where the records stand, when not where the dialect says.
    #[serde(default)]
    pub records: Vec<String>,
    /// Fields that count rows or shift between readings: left out when rows are compared.
    #[serde(default)]
    pub volatile: Vec<String>,
    /// Texts that stand for NULL in every column, besides blanks.
    #[serde(default)]
    pub null_marks: Vec<String>,
    #[serde(rename = "column")]
    pub columns: Vec<Column>,
}

/// One query parameter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    pub name: String,
    pub value: Template,
}

/// A dimension of a dataset to walk.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AxisDefinition {
    pub id: Name,
    pub kind: AxisKind,
    /// Region list of a region axis.
    #[serde(default)]
    pub list: Option<Name>,
    /// First month the source has, for a month axis.
    #[serde(default)]
    pub first: Option<Month>,
    /// Legal values of an axis of kind `values`.
    #[serde(default)]
    pub values: Vec<String>,
    /// Record fields that must repeat the axis value; joined when there are several (`dealYear`, `dealMonth`).
    /// A record without them is not judged.
    #[serde(default)]
    pub echo: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// Codes of a region list.
    Region,
    Month,
    /// The values the definition names.
    Values,
}

/// How the pages of a dataset are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Paging {
    /// Numbered pages.
    Page {
        page_param: String,
        size_param: String,
        /// Rows to ask for.
        page_size: u32,
        /// The most rows the source was seen to give on one page: a verification read may ask for them.
        #[serde(default)]
        max_page_size: Option<u32>,
        /// Number of the first page.
        #[serde(default = "one")]
        first: u32,
        /// A page with fewer rows than asked for is the last one; only where the source says so.
        #[serde(default)]
        short_page_ends: bool,
    },
}

fn one() -> u32 {
    1
}

impl Dataset {
    pub fn axis_names(&self) -> Vec<Name> {
        self.axes.iter().map(|axis| axis.id.clone()).collect()
    }

    pub fn axis(&self, kind: AxisKind) -> Option<&AxisDefinition> {
        self.axes.iter().find(|axis| axis.kind == kind)
    }

    /// Query parameters of one page, in the order they are sent; the key is not among them.
    ///
    /// `page` counts from 1, whatever the source counts from; `size` is the rows to ask for.
    pub fn query(&self, partition: &Partition, page: PageNumber, size: u32) -> Vec<(String, String)> {
        let Paging::Page { page_param, size_param, first, .. } = &self.paging;
        let mut query: Vec<_> = self.params.iter().map(|param| (param.name.clone(), param.value.fill(partition))).collect();
        query.push((page_param.clone(), (page.0 - 1 + first).to_string()));
        query.push((size_param.clone(), size.to_string()));
        query
    }

    /// Rows to ask for on one page.
    pub fn page_size(&self) -> u32 {
        let Paging::Page { page_size, .. } = self.paging;
        page_size
    }

    /// Changes with everything that decides which rows a call brings and how they are read.
    pub fn hash(&self) -> String {
        let text = serde_json::to_string(self).expect("a dataset is plain data");
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }
}
