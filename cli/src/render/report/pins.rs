//! What determines the agent's output, as far as it was declared.

use engine::event::policy::Pins as Declared;
use serde::Serialize;

/// Stands for what nobody declared.
const UNDECLARED: &str = "undeclared";

/// Declarations of the operator, not attestations of a provider.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Pins {
    pub(crate) model: Model,
    pub(crate) sampling: Sampling,
    pub(crate) context_files: Vec<ContextFile>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Model {
    pub(crate) provider: String,
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) quantization: String,
    pub(crate) runtime: String,
    pub(crate) endpoint: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Sampling {
    pub(crate) temperature: String,
    pub(crate) top_p: String,
    pub(crate) seed: String,
    pub(crate) max_tokens: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ContextFile {
    pub(crate) path: String,
    /// `missing` for a file that could not be read.
    pub(crate) digest: String,
}

impl Pins {
    pub(crate) fn of(pins: &Declared) -> Self {
        let (model, sampling) = (&pins.model, &pins.sampling);
        Self {
            model: Model {
                provider: said(model.provider.as_ref()),
                id: said(model.id.as_ref()),
                version: said(model.version.as_ref()),
                quantization: said(model.quantization.as_ref()),
                runtime: said(model.runtime.as_ref()),
                endpoint: said(model.endpoint.as_ref()),
            },
            sampling: Sampling {
                temperature: said(sampling.temperature.as_ref()),
                top_p: said(sampling.top_p.as_ref()),
                seed: said(sampling.seed.as_ref()),
                max_tokens: said(sampling.max_tokens.as_ref()),
            },
            context_files: pins
                .context_files
                .iter()
                .map(|file| ContextFile {
                    path: file.path.text(),
                    digest: file.digest.map_or_else(|| "missing".to_owned(), |digest| digest.hex()),
                })
                .collect(),
        }
    }

    /// One line: what was declared, and what was not.
    pub(crate) fn line(&self) -> String {
        let (model, sampling) = (&self.model, &self.sampling);
        let all = [
            ("provider", &model.provider),
            ("model", &model.id),
            ("version", &model.version),
            ("quantization", &model.quantization),
            ("runtime", &model.runtime),
            ("endpoint", &model.endpoint),
            ("temperature", &sampling.temperature),
            ("top_p", &sampling.top_p),
            ("seed", &sampling.seed),
            ("max_tokens", &sampling.max_tokens),
        ];
        let (missing, declared): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, value)| *value == UNDECLARED);
        let mut parts: Vec<String> = declared.iter().map(|(name, value)| format!("{name} {value}")).collect();
        match (parts.is_empty(), missing.is_empty()) {
            (true, _) => return "all undeclared".to_owned(),
            (false, true) => {}
            (false, false) => {
                let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
                parts.push(format!("undeclared: {}", names.join(", ")));
            }
        }
        parts.join("; ")
    }
}

fn said(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| UNDECLARED.to_owned(), ToString::to_string)
}
