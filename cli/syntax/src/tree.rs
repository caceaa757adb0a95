//! One parsed source, as a flat list of nodes in reading order.
//!
//! A node's descendants follow it directly, up to [`Node::until`]: every walk is a loop over a range of the list, so
//! that no depth of nesting can exhaust a stack here.

use std::cell::OnceCell;
use std::fmt;
use std::num::NonZeroU16;
use std::ops::{ControlFlow, Range};

use tree_sitter::{ParseOptions, Parser};

use crate::Span;
use crate::grammar::Grammar;

/// Sources above this are not parsed.
pub const SIZE_MAX_BYTES: usize = 1 << 20;
/// Nodes of one source.
pub const NODES_MAX: usize = 1 << 20;
/// Nodes within nodes.
pub const DEPTH_MAX: usize = 1_000;
/// How often the parser may report progress before it is stopped: a budget in work, not in time, so that the same
/// bytes always get the same answer.
const PROGRESS_MAX: usize = 200_000;

/// Why nothing can be said about a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It does not parse; the first trouble is on this line.
    Broken {
        line: u32,
    },
    TooLarge {
        size_bytes: usize,
    },
    TooDeep,
    /// More nodes, or more work for the parser, than one file is worth.
    TooCostly,
    /// The grammar was built for another parser.
    Grammar,
}

impl fmt::Display for Unknown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { line } => write!(out, "it does not parse near line {line}"),
            Self::TooLarge { size_bytes } => {
                write!(
                    out,
                    "{size_bytes} bytes are more than the {SIZE_MAX_BYTES} that are parsed"
                )
            }
            Self::TooDeep => write!(out, "it is nested more than {DEPTH_MAX} deep"),
            Self::TooCostly => out.write_str("it takes too much work to parse"),
            Self::Grammar => out.write_str("its grammar does not fit the parser of this build"),
        }
    }
}

impl std::error::Error for Unknown {}

/// Place of a node in its tree.
pub(crate) type Id = usize;

pub(crate) struct Node {
    kind: u16,
    field: Option<NonZeroU16>,
    pub(crate) named: bool,
    pub(crate) span: Span,
    /// Counted from 1.
    pub(crate) line: u32,
    pub(crate) parent: Option<Id>,
    /// The child of the same parent before this one.
    pub(crate) before: Option<Id>,
    /// Behind the last descendant.
    pub(crate) until: Id,
}

pub(crate) struct Tree<'a> {
    pub(crate) grammar: &'static Grammar,
    pub(crate) source: &'a [u8],
    nodes: Vec<Node>,
    kinds: Vec<String>,
    fields: Vec<String>,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Whether the file keeps its tests apart from a product beside them; found out once by the language that asks.
    pub(crate) apart: OnceCell<bool>,
}

impl<'a> Tree<'a> {
    pub(crate) fn parse(grammar: &'static Grammar, source: &'a [u8]) -> Result<Self, Unknown> {
        let parsed = parse(grammar, source)?;
        if parsed.root_node().has_error() {
            return Err(Unknown::Broken {
                line: first_error(&parsed),
            });
        }
        let nodes = flatten(&parsed)?;
        let language = parsed.language();
        let named = |name: Option<&str>| name.unwrap_or_default().to_string();
        let kinds = (0..language.node_kind_count())
            .map(|id| named(u16::try_from(id).ok().and_then(|id| language.node_kind_for_id(id))));
        let kinds = kinds.collect();
        let fields = (0..=language.field_count())
            .map(|id| named(u16::try_from(id).ok().and_then(|id| language.field_name_for_id(id))));
        let fields = fields.collect();
        let breaks = source.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Ok(Self {
            kinds,
            fields,
            grammar,
            source,
            nodes,
            lines,
            apart: OnceCell::new(),
        })
    }

    /// Whether the bytes are a whole program.
    pub(crate) fn parses(grammar: &'static Grammar, source: &[u8]) -> bool {
        parse(grammar, source).is_ok_and(|parsed| !parsed.root_node().has_error())
    }

    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// The line of a byte, counted from 1.
    pub(crate) fn line(&self, at: usize) -> u32 {
        u32::try_from(self.lines.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }

    pub(crate) fn all(&self) -> Range<Id> {
        0..self.nodes.len()
    }

    /// The node and everything below it.
    pub(crate) fn within(&self, id: Id) -> Range<Id> {
        id..self.nodes[id].until
    }

    pub(crate) fn children(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let until = self.nodes[id].until;
        let mut next = id + 1;
        std::iter::from_fn(move || {
            (next < until).then(|| {
                let child = next;
                next = self.nodes[child].until;
                child
            })
        })
    }

    /// Children that the grammar names, comments left out.
    pub(crate) fn parts(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        self.children(id)
            .filter(|child| self.node(*child).named && !self.comment(*child))
    }

    pub(crate) fn field(&self, id: Id, name: &str) -> Option<Id> {
        self.children(id).find(|child| self.role(*child) == name)
    }

    /// The parents, nearest first.
    pub(crate) fn above(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        std::iter::successors(self.nodes[id].parent, |above| self.nodes[*above].parent)
    }

    pub(crate) fn kind(&self, id: Id) -> &str {
        self.kinds
            .get(usize::from(self.nodes[id].kind))
            .map_or("", String::as_str)
    }

    /// What this node is to its parent; empty when that has no name.
    pub(crate) fn role(&self, id: Id) -> &str {
        let field = self.nodes[id]
            .field
            .and_then(|field| self.fields.get(usize::from(field.get())));
        field.map_or("", String::as_str)
    }

    pub(crate) fn is(&self, id: Id, kinds: &[&str]) -> bool {
        kinds.contains(&self.kind(id))
    }

    pub(crate) fn comment(&self, id: Id) -> bool {
        self.is(id, self.grammar.comments)
    }

    pub(crate) fn leaf(&self, id: Id) -> bool {
        self.nodes[id].until == id + 1
    }

    pub(crate) fn bytes(&self, id: Id) -> &'a [u8] {
        let span = self.nodes[id].span;
        &self.source[span.start..span.end]
    }

    /// The text, empty where it is none.
    pub(crate) fn text(&self, id: Id) -> &'a str {
        std::str::from_utf8(self.bytes(id)).unwrap_or_default()
    }
}

fn parse(grammar: &'static Grammar, source: &[u8]) -> Result<tree_sitter::Tree, Unknown> {
    if source.len() > SIZE_MAX_BYTES {
        return Err(Unknown::TooLarge {
            size_bytes: source.len(),
        });
    }
    let mut parser = Parser::new();
    parser
        .set_language(&(grammar.grammar)())
        .map_err(|_| Unknown::Grammar)?;
    let mut steps = 0_usize;
    let mut bounded = |_: &tree_sitter::ParseState| {
        steps += 1;
        if steps > PROGRESS_MAX {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut bounded);
    let mut read = |at: usize, _| source.get(at..).unwrap_or_default();
    parser
        .parse_with_options(&mut read, None, Some(options))
        .ok_or(Unknown::TooCostly)
}

fn line(node: &tree_sitter::Node<'_>) -> u32 {
    u32::try_from(node.start_position().row)
        .unwrap_or(u32::MAX)
        .saturating_add(1)
}

fn first_error(parsed: &tree_sitter::Tree) -> u32 {
    let mut cursor = parsed.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return line(&node);
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return 1;
            }
        }
    }
}

fn flatten(parsed: &tree_sitter::Tree) -> Result<Vec<Node>, Unknown> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<Id> = Vec::new();
    let mut before: Option<Id> = None;
    let mut cursor = parsed.walk();
    loop {
        let node = cursor.node();
        if nodes.len() >= NODES_MAX {
            return Err(Unknown::TooCostly);
        }
        if open.len() >= DEPTH_MAX {
            return Err(Unknown::TooDeep);
        }
        let id = nodes.len();
        nodes.push(Node {
            kind: node.kind_id(),
            field: cursor.field_id(),
            named: node.is_named(),
            span: Span {
                start: node.start_byte(),
                end: node.end_byte(),
            },
            line: line(&node),
            parent: open.last().copied(),
            before: before.take(),
            until: id + 1,
        });
        if cursor.goto_first_child() {
            open.push(id);
            continue;
        }
        before = Some(id);
        while !cursor.goto_next_sibling() {
            let Some(done) = open.pop() else {
                return Ok(nodes);
            };
            nodes[done].until = nodes.len();
            before = Some(done);
            cursor.goto_parent();
        }
    }
}
