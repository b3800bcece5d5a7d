use std::sync::Arc;

use super::tree::{NameId, NodeIndex, NodeKind, NodeRef, Tree};

/// The records of one page: a list of items in a shared tree.
#[derive(Clone, Debug, Default)]
pub struct Records {
    tree: Arc<Tree>,
    items: Arc<[NodeIndex]>,
}

/// One record of a page.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    node: NodeRef<'a>,
}

/// One field of a record, as sent.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    node: NodeRef<'a>,
}

/// Hash over the fields of a row, in the order of their names; fields that count rows are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowHash(pub [u8; 16]);

impl Records {
    pub fn new(tree: Arc<Tree>, items: Vec<NodeIndex>) -> Self {
        Self { tree, items: items.into() }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.items.iter().map(|&index| Record { node: self.tree.node(index) })
    }

    /// Every field name that occurs, by [`NameId`].
    pub fn names(&self) -> &[Box<str>] {
        self.tree.names()
    }

    /// The id of a field name; `None` when no field has that name.
    pub fn name_id(&self, name: &str) -> Option<NameId> {
        self.tree.name_id(name)
    }

    /// The body the records were read from, as text without the key.
    pub fn body(&self) -> &str {
        self.tree.body()
    }
}

impl<'a> Record<'a> {
    /// Its fields in source order.
    pub fn fields(self) -> impl Iterator<Item = Field<'a>> {
        self.node.children().map(|node| Field { node })
    }

    pub fn field(self, name: &str) -> Option<Field<'a>> {
        self.node.child(name).map(|node| Field { node })
    }
}

impl<'a> Field<'a> {
    pub fn name(self) -> &'a str {
        self.node.name()
    }

    pub fn name_id(self) -> NameId {
        self.node.name_id()
    }

    pub fn kind(self) -> NodeKind {
        self.node.kind()
    }

    /// The value as sent: number literals and blanks unchanged, an object or array as its source text.
    pub fn text(self) -> &'a str {
        self.node.text()
    }

    /// The members of an object or array.
    pub fn children(self) -> impl Iterator<Item = Field<'a>> {
        self.node.children().map(|node| Field { node })
    }
}
