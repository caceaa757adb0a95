//! The canonical form of a piece of source: its tree, without what does not change what it does.

use crate::tree::{Id, Tree};

/// Digest of a canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Body(pub [u8; 32]);

/// Kinds, fields and the text of leaves, in order; no layout, no comments, no documentation, and nothing of the
/// test's own name.
pub(crate) fn of(tree: &Tree<'_>, id: Id, own_name: Option<&str>) -> Body {
    without(tree, id, own_name, &|_| false)
}

/// The same of a part from which others are left out.
pub(crate) fn without(tree: &Tree<'_>, id: Id, own_name: Option<&str>, left_out: &dyn Fn(Id) -> bool) -> Body {
    let mut hasher = blake3::Hasher::new();
    let mut open: Vec<Id> = Vec::new();
    let mut next = id;
    let until = tree.within(id).end;
    while next < until {
        while open.last().is_some_and(|until| *until <= next) {
            open.pop();
            hasher.update(b")");
        }
        if left_out(next) || tree.comment(next) || (tree.grammar.documentation)(tree, next) || trailing(tree, next) {
            next = tree.within(next).end;
            continue;
        }
        let node = tree.node(next);
        let mut put = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        put(tree.kind(next).as_bytes());
        put(tree.role(next).as_bytes());
        if tree.leaf(next) {
            let text = tree.bytes(next);
            put(if own_name.is_some_and(|name| name.as_bytes() == text) {
                b""
            } else {
                text
            });
        } else {
            hasher.update(b"(");
            open.push(node.until);
        }
        next += 1;
    }
    Body(*hasher.finalize().as_bytes())
}

/// A comma that only the layout asked for: the last thing before the closing bracket. A tuple of one keeps it.
fn trailing(tree: &Tree<'_>, id: Id) -> bool {
    let Some(parent) = tree.node(id).parent else {
        return false;
    };
    if tree.kind(id) != "," {
        return false;
    }
    let behind = tree.within(id).end;
    let closing = |next: Id| !tree.node(next).named && matches!(tree.text(next), ")" | "]" | "}");
    behind < tree.within(parent).end && closing(behind) && tree.parts(parent).nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use crate::{Language, tests};

    fn bodies(source: &str) -> Vec<crate::suite::Test> {
        tests(Language::of("a.py").unwrap(), source.as_bytes()).unwrap().tests
    }

    #[test]
    fn names_layout_comments_and_documentation_make_no_difference() {
        let found = bodies(
            "def test_a():\n    assert f([1, 2]) == 3\n\ndef test_b():\n    \"\"\"Says why.\"\"\"\n    # and how\n    assert f([\n        1,\n        2,\n    ]) == 3\n",
        );
        assert_eq!(found[0].body, found[1].body);
    }

    #[test]
    fn what_is_called_compared_or_demanded_does() {
        let found = bodies(
            "def test_a():\n    assert f(1) == 3\n\ndef test_b():\n    assert g(1) == 3\n\ndef test_c():\n    assert f(1) >= 3\n\ndef test_d():\n    assert f(1) == 4\n\ndef test_e():\n    assert f((1,)) == 3\n\ndef test_f():\n    assert f((1)) == 3\n",
        );
        for (at, test) in found.iter().enumerate() {
            assert!(
                found[at + 1..].iter().all(|other| other.body != test.body),
                "{:?}",
                test.path
            );
        }
    }
}
