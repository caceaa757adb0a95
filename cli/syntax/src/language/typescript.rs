//! TypeScript and TSX: JavaScript with types, which no mutant touches.

use super::javascript;
use crate::grammar::Grammar;

const ARID: &[&str] = &[
    "import_statement",
    "decorator",
    "type_annotation",
    "type_arguments",
    "type_parameters",
    "type_alias_declaration",
    "interface_declaration",
    "ambient_declaration",
    "enum_declaration",
    "literal_type",
    "union_type",
];

pub(super) static GRAMMAR: Grammar = Grammar {
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    arid: ARID,
    ..javascript::BASE
};

pub(super) static TSX: Grammar = Grammar {
    grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    arid: ARID,
    ..javascript::BASE
};

#[cfg(test)]
mod tests {
    use crate::{Language, What, mutants, tests};

    fn language(path: &str) -> Language {
        Language::of(path).unwrap()
    }

    #[test]
    fn tests_are_those_of_javascript_with_types_between() {
        let source = b"describe('a', () => { it('b', (): void => { expect(f<number>(1)).toBe(2 as number); }); });";
        let parsed = tests(language("a.ts"), source).unwrap();
        assert_eq!(parsed.tests[0].path, ["a", "b"]);
        assert_eq!((parsed.tests.len(), parsed.assertions), (1, 1));
    }

    #[test]
    fn elements_are_read_in_tsx_and_only_there() {
        let source = b"test('a', () => { expect(<B c={1} />).toBe(2); });";
        assert_eq!(tests(language("a.tsx"), source).unwrap().assertions, 1);
        assert!(tests(language("a.ts"), source).is_err());
    }

    #[test]
    fn types_are_never_changed() {
        let source = b"type A = 1 | 2;\ninterface B { c: 'd' }\nfunction f(x: 3): 4 { return x + 5; }\n";
        let found = mutants(language("a.ts"), source, &What::Code(&[1..=9]), 99).unwrap();
        let changed: Vec<_> = found.iter().map(|mutant| mutant.original.as_str()).collect();
        assert!(changed.contains(&"5") && changed.contains(&"+"), "{changed:?}");
        assert!(
            !changed.iter().any(|text| ["1", "2", "3", "4", "'d'"].contains(text)),
            "{changed:?}"
        );
    }
}
