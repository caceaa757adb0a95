//! `[model]`, `[sampling]`, `[pins]` and `[money]`: what was declared about the agent and its spending.

use engine::event::policy::{ContextFile, Metering, PinMode};

use super::super::error::Fault;
use super::super::money;
use super::super::setting::{Kind, Off, Setting};
use super::super::value::Value;
use super::row;

const MODEL_GROUP: &str = "Model";
const SAMPLING_GROUP: &str = "Sampling";
const GROUP: &str = "Pins";
const MONEY_GROUP: &str = "Money";

/// Large enough for any provider, small enough to add up.
const TOKENS_MAX: u64 = 1 << 53;

macro_rules! declared {
    ($field:ident, $key:literal, $flag:literal, $env:literal, $help:literal) => {
        row!(
            text?,
            pins.model.$field,
            row::blank(
                MODEL_GROUP,
                $key,
                $flag,
                $env,
                $help,
                "A declaration, recorded as such; `n/a` where it does not apply.",
            )
        )
    };
}

pub(super) const MODEL_ROWS: &[Setting] = &[
    declared!(
        provider,
        "model.provider",
        "--model-provider",
        "LOOPEXEC_MODEL_PROVIDER",
        "Who serves the model"
    ),
    declared!(id, "model.id", "--model-id", "LOOPEXEC_MODEL_ID", "Name of the model"),
    declared!(
        version,
        "model.version",
        "--model-version",
        "LOOPEXEC_MODEL_VERSION",
        "Version or build of the model"
    ),
    declared!(
        quantization,
        "model.quantization",
        "--model-quantization",
        "LOOPEXEC_MODEL_QUANTIZATION",
        "Quantization of the model"
    ),
    declared!(
        runtime,
        "model.runtime",
        "--model-runtime",
        "LOOPEXEC_MODEL_RUNTIME",
        "What runs the model"
    ),
    declared!(
        endpoint,
        "model.endpoint",
        "--model-endpoint",
        "LOOPEXEC_MODEL_ENDPOINT",
        "Where the model is reached"
    ),
];

pub(super) const SAMPLING_ROWS: &[Setting] = &[
    row!(
        decimal(1_000)?,
        pins.sampling.temperature,
        row::blank(
            SAMPLING_GROUP,
            "sampling.temperature",
            "--temperature",
            "LOOPEXEC_TEMPERATURE",
            "Declared sampling temperature",
            "",
        )
    ),
    row!(
        decimal(1)?,
        pins.sampling.top_p,
        row::blank(
            SAMPLING_GROUP,
            "sampling.top_p",
            "--top-p",
            "LOOPEXEC_TOP_P",
            "Declared nucleus sampling bound, from 0 to 1",
            "",
        )
    ),
    Setting {
        kind: Kind::Integer {
            min: i64::MIN,
            max: i64::MAX,
        },
        off: Off::Word,
        set: |policy, value| {
            policy.pins.sampling.seed = value.unless_off().map(Value::integer).transpose()?;
            Ok(())
        },
        show: |policy| row::or_off(policy.pins.sampling.seed.as_ref(), i64::to_string),
        ..row::blank(
            SAMPLING_GROUP,
            "sampling.seed",
            "--seed",
            "LOOPEXEC_SEED",
            "Declared sampling seed",
            "",
        )
    },
    row!(
        count64(1, TOKENS_MAX)? WordOrZero,
        pins.sampling.max_tokens,
        row::blank(
            SAMPLING_GROUP,
            "sampling.max_tokens",
            "--max-tokens",
            "LOOPEXEC_MAX_TOKENS",
            "Declared most tokens of one answer",
            "",
        )
    ),
];

pub(super) const ROWS: &[Setting] = &[
    row!(
        choice PinMode,
        pins.mode,
        row::blank(
            GROUP,
            "pins.mode",
            "--pins",
            "LOOPEXEC_PINS",
            "Whether the identity of the model must be declared in full",
            "Under `required` a run without provider, id, version, quantization, runtime and endpoint does not start.",
        )
    ),
    Setting {
        kind: Kind::Paths,
        off: Off::Word,
        set: |policy, value| {
            let paths = value.unless_off().map(Value::paths).transpose()?.unwrap_or_default();
            // The digests are filled in once all layers are read.
            policy.pins.context_files = paths
                .into_iter()
                .map(|path| ContextFile { path, digest: None })
                .collect();
            Ok(())
        },
        show: |policy| {
            let paths = policy.pins.context_files.iter();
            let texts: Vec<String> = paths
                .map(|file| String::from_utf8_lossy(&file.path.0).into_owned())
                .collect();
            row::list(&texts)
        },
        ..row::blank(
            GROUP,
            "pins.context_files",
            "--context-file",
            "LOOPEXEC_CONTEXT_FILES",
            "File given to the agent from outside, recorded by content",
            "Relative to the workdir. One that cannot be read is recorded as such, or refused when pins are required.",
        )
    },
    row!(
        money? Word,
        pins.declared_cost_microusd,
        row::blank(
            GROUP,
            "pins.cost_usd",
            "--cost-usd",
            "LOOPEXEC_COST_USD",
            "Cost of the whole run as its operator declares it, in dollars",
            "Recorded only; no limit follows from it.",
        )
    ),
];

pub(super) const MONEY_ROWS: &[Setting] = &[
    row!(
        choice Metering,
        money.metering,
        row::blank(
            MONEY_GROUP,
            "money.metering",
            "--metering",
            "LOOPEXEC_METERING",
            "How spending is accounted for",
            "`observed` reads what was used after the fact; `strict` reserves every call before the work.",
        )
    ),
    row!(
        count64(1, TOKENS_MAX)? Word,
        money.calls_max,
        row::blank(
            MONEY_GROUP,
            "money.calls_max",
            "--calls-max",
            "LOOPEXEC_CALLS_MAX",
            "Model calls that the run may make; needs metering",
            "",
        )
    ),
    row!(
        count64(1, TOKENS_MAX)? Word,
        money.tokens_max,
        row::blank(
            MONEY_GROUP,
            "money.tokens_max",
            "--tokens-max",
            "LOOPEXEC_TOKENS_MAX",
            "Tokens that the run may use; needs metering",
            "",
        )
    ),
];
