//! How the binary is put together, so that a short command starts almost as fast as one that does nothing. A start pays
//! for every file that is loaded, every page of code that is touched and every address that has to be written anew:
//!
//! ```text
//!   unwinder    linked in, where the compiler would have libgcc_s.so loaded at every start
//!   addresses   fixed, where the compiler would have some thousands of them written at every start
//!   layout.txt  functions that `status` runs lie side by side, not on pages all over the binary
//! ```
//!
//! All of it is for GNU/Linux and a release build; anywhere else, and with `LOOPEXEC_PLAIN_LINK` set, the compiler's
//! defaults stand. Fixed addresses give up one layer of defence against memory errors, of which a program without
//! unsafe code has next to none; stack, heap and libraries stay at random places.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=layout.txt");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    println!("cargo::rerun-if-env-changed=LOOPEXEC_PLAIN_LINK");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    let is_plain = env::var_os("LOOPEXEC_PLAIN_LINK").is_some();
    if !is_gnu || is_static || is_plain || !is("PROFILE", "release") {
        return;
    }
    if has("libgcc_eh.a") {
        // Asked for like a shared library, because the driver knows where it lies and the compiler does not.
        println!("cargo::rustc-link-lib=dylib=gcc_eh");
    }
    println!("cargo::rustc-link-arg-bin=loopexec=-no-pie");
    // Of the linkers in use, mold alone takes no script of sections.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if !flags.contains("mold") {
        let script = script();
        println!("cargo::rustc-link-arg-bin=loopexec=-Wl,-T,{}", script.display());
    }
}

/// Whether the driver finds the archive: one that it does not find, it names as it was named.
fn has(archive: &str) -> bool {
    let driver = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked = Command::new(driver).arg(format!("-print-file-name={archive}")).output();
    asked.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute())
}

/// A script that puts the functions of `layout.txt` before all others. The names there are those of the object files
/// without the hash of each build. A name that is no longer used changes nothing; a function that has no name there
/// costs a fault and up to 64 KiB more.
fn script() -> PathBuf {
    let mut text = "SECTIONS {\n  .text.hot : {\n".to_owned();
    for name in fs::read_to_string("layout.txt")
        .expect("layout.txt is a file of this package")
        .lines()
    {
        let end = if name.starts_with("_ZN") { "17h*" } else { "" };
        text.push_str(&format!("    *(.text.{name}{end} .text.unlikely.{name}{end})\n"));
    }
    text.push_str("  }\n}\nINSERT BEFORE .text;\n");
    let path = Path::new(&env::var_os("OUT_DIR").expect("cargo names the folder")).join("layout.ld");
    fs::write(&path, text).expect("the folder of the build can be written to");
    path
}
