use std::sync::Arc;

/// A body as one neutral tree, whether it came as XML or JSON.
///
/// Flat: the nodes stand in document order in one list, their texts are spans of the body or, where unescaping changed
/// them, of one side buffer. A page of 1,000 rows is then four allocations instead of 40,000.
#[derive(Debug, Default)]
pub struct Tree {
    body: String,
    side: String,
    names: Vec<Box<str>>,
    nodes: Vec<Node>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Null,
    Text,
    /// A JSON number; its text is the literal as sent.
    Number,
    Boolean,
    Object,
    Array,
}

/// Index of a field name among the names of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(u32);

impl NameId {
    /// The nameless: the document itself and the members of an array.
    pub const NONE: Self = Self(u32::MAX);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: NodeKind,
    name: NameId,
    /// Span of the text; for an object or array of JSON, of its source text.
    start: u32,
    len: u32,
    /// Index of the first node after this one's subtree.
    end: u32,
}

/// Set in `start` of a span that lies in the side buffer. Bodies are limited far below it.
const SIDE: u32 = 1 << 31;

/// Writes a [`Tree`] in document order.
#[derive(Debug)]
pub struct TreeBuilder {
    side: String,
    names: Vec<Box<str>>,
    by_name: std::collections::HashMap<Box<str>, NameId>,
    nodes: Vec<Node>,
    /// Name that followed the last one of the same value, to find the next without hashing.
    successors: Vec<u32>,
    last_name: usize,
}

/// Text of a node being written.
#[derive(Clone, Copy, Debug)]
pub enum Span<'a> {
    /// Byte range of the body.
    Body { start: usize, len: usize },
    /// A text that does not stand in the body like this.
    Owned(&'a str),
}

/// An object or array being written: close it with [`TreeBuilder::close`].
#[derive(Debug)]
#[must_use]
pub struct OpenNode(usize);

impl Default for TreeBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl TreeBuilder {
    pub fn new() -> Self {
        Self::for_body(0)
    }

    /// A builder with room for the nodes that a body of so many bytes usually has.
    pub fn for_body(bytes: usize) -> Self {
        // A short field of JSON takes as much; more nodes make the list grow, as any list does.
        const BYTES_OF_A_NODE: usize = 16;
        Self {
            side: String::new(),
            names: Vec::new(),
            by_name: std::collections::HashMap::new(),
            nodes: Vec::with_capacity(bytes / BYTES_OF_A_NODE),
            successors: Vec::new(),
            last_name: usize::MAX,
        }
    }

    /// The id of a field name; equal names have equal ids.
    pub fn name(&mut self, text: &str) -> NameId {
        if let Some(&next) = self.successors.get(self.last_name)
            && self.names.get(next as usize).is_some_and(|name| &**name == text)
        {
            self.last_name = next as usize;
            return NameId(next);
        }
        let id = match self.by_name.get(text) {
            Some(id) => *id,
            None => {
                let id = NameId(self.names.len() as u32);
                self.names.push(text.into());
                self.successors.push(u32::MAX);
                self.by_name.insert(text.into(), id);
                id
            }
        };
        if let Some(successor) = self.successors.get_mut(self.last_name) {
            *successor = id.0;
        }
        self.last_name = id.index();
        id
    }

    /// The text of a name given out by [`TreeBuilder::name`].
    pub fn name_text(&self, name: NameId) -> &str {
        self.names.get(name.index()).map_or("", |name| name)
    }

    pub fn leaf(&mut self, name: NameId, kind: NodeKind, text: Span<'_>) {
        let (start, len) = self.span(text);
        let end = self.nodes.len() as u32 + 1;
        self.nodes.push(Node { kind, name, start, len, end });
    }

    /// Begins an object or array; `source` is its own text, empty where it has none to show.
    pub fn open(&mut self, name: NameId, kind: NodeKind, source: Span<'_>) -> OpenNode {
        let (start, len) = self.span(source);
        self.nodes.push(Node { kind, name, start, len, end: 0 });
        OpenNode(self.nodes.len() - 1)
    }

    pub fn close(&mut self, node: OpenNode) {
        self.nodes[node.0].end = self.nodes.len() as u32;
    }

    /// Ends an opened node whose own text is known only now.
    pub fn close_with_source(&mut self, node: OpenNode, source: Span<'_>) {
        let (start, len) = self.span(source);
        let parent = &mut self.nodes[node.0];
        (parent.start, parent.len) = (start, len);
        self.close(node);
    }

    /// Ends an opened node that turned out to be a leaf: it must have no children.
    pub fn close_as_leaf(&mut self, node: OpenNode, kind: NodeKind, text: Span<'_>) {
        assert_eq!(node.0 + 1, self.nodes.len(), "a leaf has no children");
        let (start, len) = self.span(text);
        let leaf = &mut self.nodes[node.0];
        (leaf.kind, leaf.start, leaf.len, leaf.end) = (kind, start, len, node.0 as u32 + 1);
    }

    /// The finished tree. `body` is the text that [`Span::Body`] ranges were taken of.
    pub fn finish(self, body: String) -> Tree {
        assert!(self.nodes.iter().all(|node| node.end != 0), "every opened node is closed");
        Tree { body, side: self.side, names: self.names, nodes: self.nodes }
    }

    fn span(&mut self, text: Span<'_>) -> (u32, u32) {
        match text {
            Span::Body { start, len } => (narrow(start), narrow(len)),
            Span::Owned(text) => {
                let start = narrow(self.side.len());
                self.side.push_str(text);
                (start | SIDE, narrow(text.len()))
            }
        }
    }
}

fn narrow(position: usize) -> u32 {
    u32::try_from(position).ok().filter(|position| position & SIDE == 0).expect("bodies are limited below 2 GiB")
}

impl Tree {
    /// The whole document: an object whose members are the root element or the members of the JSON object, or the JSON
    /// value itself.
    pub fn root(self: &Arc<Self>) -> NodeRef<'_> {
        NodeRef { tree: self, index: 0 }
    }

    pub fn node(&self, index: NodeIndex) -> NodeRef<'_> {
        NodeRef { tree: self, index: index.0 }
    }

    /// Every field name of the document, by [`NameId`].
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// The id of a field name; `None` when no node has it.
    pub fn name_id(&self, name: &str) -> Option<NameId> {
        self.names.iter().position(|known| **known == *name).map(|index| NameId(index as u32))
    }

    /// The body the tree was read from, as text.
    pub fn body(&self) -> &str {
        &self.body
    }

    fn text(&self, node: &Node) -> &str {
        let (buffer, start) = if node.start & SIDE == 0 { (&self.body, node.start) } else { (&self.side, node.start ^ SIDE) };
        &buffer[start as usize..][..node.len as usize]
    }
}

/// Where a node stands in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeIndex(u32);

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef<'a> {
    tree: &'a Tree,
    index: u32,
}

impl<'a> NodeRef<'a> {
    pub fn index(self) -> NodeIndex {
        NodeIndex(self.index)
    }

    pub fn kind(self) -> NodeKind {
        self.node().kind
    }

    pub fn name_id(self) -> NameId {
        self.node().name
    }

    /// Its field name; empty for the nameless.
    pub fn name(self) -> &'a str {
        self.tree.names.get(self.name_id().index()).map_or("", |name| name)
    }

    /// The text of a leaf; the source text of a JSON object or array.
    pub fn text(self) -> &'a str {
        self.tree.text(self.node())
    }

    pub fn children(self) -> impl Iterator<Item = NodeRef<'a>> {
        let end = self.node().end;
        let is_parent = matches!(self.kind(), NodeKind::Object | NodeKind::Array);
        let mut next = self.index + 1;
        std::iter::from_fn(move || {
            (is_parent && next < end).then(|| {
                let child = NodeRef { tree: self.tree, index: next };
                next = child.node().end;
                child
            })
        })
    }

    pub fn child(self, name: &str) -> Option<NodeRef<'a>> {
        self.children().find(|child| child.name() == name)
    }

    /// Follows member names; an array on the way is entered at its only or first member that has the name.
    pub fn descend(self, path: &[impl AsRef<str>]) -> Option<NodeRef<'a>> {
        path.iter().try_fold(self, |node, name| match node.kind() {
            NodeKind::Array => node.children().find_map(|member| member.child(name.as_ref())),
            _ => node.child(name.as_ref()),
        })
    }

    fn node(self) -> &'a Node {
        &self.tree.nodes[self.index as usize]
    }
}
