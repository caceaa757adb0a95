//! How the binary is put together, so that a short command starts almost as fast as one that does nothing: a start pays
//! for every file that is loaded. The unwinder is linked in, where the compiler would have `libgcc_s.so` loaded at every
//! start. That is for GNU/Linux and a release build; anywhere else, and where there is no archive of it, the compiler's
//! defaults stand.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    if is_gnu && !is_static && is("PROFILE", "release") && has("libgcc_eh.a") {
        // Asked for like a shared library, because the driver knows where it lies and the compiler does not.
        println!("cargo::rustc-link-lib=dylib=gcc_eh");
    }
}

/// Whether the driver finds the archive: one that it does not find, it names as it was named.
fn has(archive: &str) -> bool {
    let driver = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked = Command::new(driver).arg(format!("-print-file-name={archive}")).output();
    asked.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute())
}
