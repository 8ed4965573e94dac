//! Arguments given by the user: `SANDBOX_INPUT_STUBS`, history, templates and plugins.

use std::collections::BTreeMap;

use menace_model::calls::{ParameterShape, Recipe, SectionDescription};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Stub, constructed_object};
use crate::callable_section::CallableSection;
use crate::object_recipes::ObjectRecipes;

/// Arguments by name, for one section or for all sections that take them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GivenStub {
    /// `module:qualname`; `None` means every section whose parameters have these names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Values by parameter name.
    pub arguments: BTreeMap<String, Recipe>,
}

impl GivenStub {
    /// Reads a JSON object of names and values; `$section` restricts it to one section.
    pub fn of_json(values: &Map<String, Value>) -> Self {
        let section = values.get("$section").and_then(Value::as_str).map(str::to_owned);
        let arguments = values
            .iter()
            .filter(|(name, _)| *name != "$section")
            .map(|(name, value)| (name.clone(), Recipe::of_plain_json(value)))
            .collect();
        Self { section, arguments }
    }

    /// Whether a section can be called with the arguments: all required ones are present and none is unknown.
    pub fn is_for(&self, target: &CallableSection) -> bool {
        if self.section.as_ref().is_some_and(|section| *section != target.name()) {
            return false;
        }
        let Some(SectionDescription::Callable { parameters, .. }) = &target.described else { return false };
        let knows = |name: &String| parameters.iter().any(|parameter| parameter.name == *name);
        let needed =
            |parameter: &ParameterShape| !parameter.required || self.arguments.contains_key(&parameter.name);
        // An object without arguments and section does not apply to functions without parameters.
        (self.section.is_some() || !self.arguments.is_empty())
            && self.arguments.keys().all(knows)
            && parameters.iter().all(needed)
    }

    /// Converts to the arguments of a call.
    pub(crate) fn stub(
        &self,
        described: &SectionDescription,
        owners: &ObjectRecipes,
        draw: usize,
    ) -> Result<Stub, String> {
        let SectionDescription::Callable { parameters, owner, .. } = described else {
            return Err("not callable".into());
        };
        let owner = match owner {
            Some(shape) => Some(
                constructed_object(shape, owners, draw)
                    .ok_or("failed to construct the object that owns the method")?,
            ),
            None => None,
        };
        let mut stub = Stub { owner, ..Stub::default() };
        for parameter in parameters {
            let Some(value) = self.arguments.get(&parameter.name) else { continue };
            if parameter.is_positional_only() {
                stub.arguments.push(value.clone());
            } else {
                stub.keywords.push((parameter.name.clone(), value.clone()));
            }
        }
        Ok(stub)
    }
}
