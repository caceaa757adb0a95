//! Products that end the process of the test that calls them.

use crate::support::story::{Project, available};

const CODE: &str = "\
pub fn area(w: u32, h: u32) -> u32 {
    w + h.missing()
}

#[cfg(test)]
mod tests {
    #[test]
    fn of_a_square() {
        assert_eq!(super::area(3, 3), 9);
    }

    #[test]
    fn of_what_is_missing() {
        if std::env::var_os(\"NO_SUCH_VARIABLE\").is_none() {
            return;
        }
        assert_eq!(super::area(2, 2), 4);
    }
}
";

#[test]
fn a_test_whose_process_the_product_ends_well_is_not_run_to_its_end() {
    if !available("cargo") || !available("cargo-nextest") {
        return;
    }
    let project = || {
        Project::committed(&[
            (
                "Cargo.toml",
                "[package]\nname = \"area\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            (
                "Cargo.lock",
                "version = 3\n\n[[package]]\nname = \"area\"\nversion = \"0.1.0\"\n",
            ),
            ("src/lib.rs", CODE),
            (".gitignore", "target/\n"),
        ])
    };
    let check = "cargo nextest run --offline --no-fail-fast";
    let others = ["t0_replay", "sentinel_pair", "code_mutation", "order"].map(|name| ["--guard-off", name]);
    let said = project().run(
        "sed -i 's/w + h.missing()/std::process::exit(0)/' src/lib.rs",
        check,
        others.as_flattened(),
    );
    said.halted(15, "check_inadequate", "oracle_mutation");
    assert!(said.why().contains("not to its end"), "{}", said.why());
    let honest = project().run(
        "sed -i 's/w + h.missing()/w * h/' src/lib.rs",
        check,
        others.as_flattened(),
    );
    honest.converged(1);
}
