use std::collections::HashMap;
use std::sync::Arc;

use super::value::ColumnRule;
use crate::definition::column::{Column, ColumnType};
use crate::definition::dataset::{AxisKind, Dataset};
use crate::model::name::Name;

/// A dataset the store has tables for. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Declared(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: Name,
    axes: Vec<Name>,
    region_axis: Option<Name>,
    region_list: Option<Name>,
    month_axis: Option<Name>,
    columns: Vec<Name>,
    kinds: Vec<ColumnType>,
    rules: Vec<ColumnRule>,
    by_field: HashMap<Box<str>, Vec<usize>>,
    hash: String,
}

impl Declared {
    /// A dataset whose tables were made by this very definition: [`super::Store::declare`] makes them.
    pub fn new(dataset: &Dataset) -> Self {
        let mut by_field: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        for (position, column) in dataset.columns.iter().enumerate() {
            for field in fields(column) {
                let columns = by_field.entry(field.into()).or_default();
                if columns.last() != Some(&position) {
                    columns.push(position);
                }
            }
        }
        Self(Arc::new(Inner {
            id: dataset.id.clone(),
            axes: dataset.axis_names(),
            region_axis: dataset.axis(AxisKind::Region).map(|axis| axis.id.clone()),
            region_list: dataset.axis(AxisKind::Region).and_then(|axis| axis.list.clone()),
            month_axis: dataset.axis(AxisKind::Month).map(|axis| axis.id.clone()),
            columns: dataset.columns.iter().map(|column| column.id.clone()).collect(),
            kinds: dataset.columns.iter().map(|column| column.kind).collect(),
            rules: dataset.columns.iter().map(|column| ColumnRule::of(column, &dataset.null_marks)).collect(),
            by_field,
            hash: dataset.hash(),
        }))
    }

    pub fn id(&self) -> &Name {
        &self.0.id
    }

    /// Hash of the definition its jobs are collected with.
    pub fn definition_hash(&self) -> &str {
        &self.0.hash
    }

    pub(super) fn axes(&self) -> &[Name] {
        &self.0.axes
    }

    pub(super) fn region_axis(&self) -> Option<&Name> {
        self.0.region_axis.as_ref()
    }

    /// The list its regions are from.
    pub(super) fn region_list(&self) -> Option<&Name> {
        self.0.region_list.as_ref()
    }

    pub(super) fn month_axis(&self) -> Option<&Name> {
        self.0.month_axis.as_ref()
    }

    /// In the order of the definition.
    pub(super) fn columns(&self) -> &[Name] {
        &self.0.columns
    }

    pub(super) fn kinds(&self) -> &[ColumnType] {
        &self.0.kinds
    }

    pub(super) fn rules(&self) -> &[ColumnRule] {
        &self.0.rules
    }

    /// Positions of the columns that are read from a field.
    pub(super) fn columns_of(&self, field: &str) -> &[usize] {
        self.0.by_field.get(field).map_or(&[], Vec::as_slice)
    }
}

fn fields(column: &Column) -> impl Iterator<Item = &str> {
    std::iter::once(&column.field).chain(&column.aliases).map(String::as_str)
}
