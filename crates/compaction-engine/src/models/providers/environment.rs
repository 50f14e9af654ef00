//! Variables of the environment, which hold the keys.

use std::collections::BTreeMap;
use std::fmt;

use super::super::secret::Secret;
use super::printed_keys::PrintedKeys;

/// Variables and their values, and the keys that programs have printed. Values that are no UTF-8 are
/// left out: no key is such a value.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    printed_keys: PrintedKeys,
}

/// Words in the names of variables that hold what nobody may see.
const SECRET_WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
/// Shorter values of such variables are switches and numbers.
const SHORTEST_SECRET: usize = 8;

impl Environment {
    /// Those of this process.
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The same with keys that were printed before, and with those that will be.
    pub fn with_printed_keys(self, printed_keys: &PrintedKeys) -> Self {
        Self { printed_keys: printed_keys.clone(), ..self }
    }

    /// Keys that programs have printed.
    pub(super) fn printed_keys(&self) -> &PrintedKeys {
        &self.printed_keys
    }

    /// What a variable holds, if it holds something.
    pub(super) fn secret(&self, name: &str) -> Option<Secret> {
        self.variables.get(name).map(|value| Secret::new(value)).filter(|secret| !secret.is_empty())
    }

    /// All that sounds like a secret by its name: a program inherits it and may print it.
    pub(super) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let sounds_secret = |name: &str| SECRET_WORDS.iter().any(|word| name.to_uppercase().contains(word));
        let secrets = self.variables.iter().filter(move |(name, _)| sounds_secret(name));
        secrets.filter(|(_, value)| value.trim().len() >= SHORTEST_SECRET).map(|(_, value)| Secret::new(value))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        Self { variables: variables.into_iter().collect(), printed_keys: PrintedKeys::default() }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}
