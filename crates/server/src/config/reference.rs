//! The reference of all settings, `docs/configuration.md`, made from the code.

use std::fmt::Write;

use super::key::Form;
use super::values::Setting;
use super::{Config, plans};

const BEFORE: &str = "\
# Settings

Generated from the code by `just configuration`; a test checks that it is up to date.

Each setting is a flag, an environment variable, or a line in `parlance.toml` (in the working directory, or named by
`--config` / `PARLANCE_CONFIG`). A flag wins over the variable, the variable over the file, the file over the default.

`parlance config check` lists everything that is wrong with the configuration, and `parlance config show` prints each
setting with its value and origin (both also with `--json`). The password in `database_url` is not shown. The server
does not start with a wrong configuration.

Unknown keys in the file, unknown flags, and unknown variables that begin with `PARLANCE_` are wrong too. Exceptions:
`PARLANCE_KEY` (which the first start suggests), the variables of builds and tests of this project (`PARLANCE_COMMIT`,
`PARLANCE_BUILT_AT`, `PARLANCE_BIN`, `PARLANCE_SCENE`, `PARLANCE_TEST_…`), and those that Kubernetes sets for a service
named `parlance` (`PARLANCE_PORT…`, `PARLANCE_SERVICE_…`).
";

/// The reference, as Markdown.
pub(crate) fn reference() -> String {
    let mut text = BEFORE.to_owned();
    let mut section = "";
    for setting in Config::described().iter().filter(|setting| !setting.key.for_tests) {
        if setting.section != section {
            section = setting.section;
            // Writing into a text cannot fail.
            let _ = write!(text, "\n## {section}\n\n{HEAD}");
        }
        text.push_str(&row(setting));
    }
    let _ = write!(text, "\n## Plans, in the file only\n\n{}\n\n{PLAN_HEAD}", plans::INTRODUCTION);
    for line in plans::LINES {
        let _ = writeln!(text, "| `{}` | {} | {} |", line.name, line.default, line.what);
    }
    text
}

const HEAD: &str = "\
| flag | variable | in the file | default | what |
|---|---|---|---|---|
";

const PLAN_HEAD: &str = "\
| in `[plans.NAME]` | default | what |
|---|---|---|
";

fn row(setting: &Setting) -> String {
    let key = &setting.key;
    // A default that is said in words stands without the marks of code.
    let default = if setting.shown.is_some() { format!("`{}`", key.default) } else { key.default.to_owned() };
    let line = match key.form {
        _ if matches!(key.name, "config" | "env_file") => "–".to_owned(),
        Form::Number | Form::Switch => format!("`{} = {}`", key.name, example(setting)),
        Form::Text | Form::List | Form::Other => format!("`{} = \"{}\"`", key.name, example(setting)),
    };
    let value = key.value.replace('|', "\\|");
    format!("| `--{} {value}` | `{}` | {line} | {default} | {} |\n", key.flag(), key.variable(), key.what)
}

/// A value as it could stand in the file.
fn example(setting: &Setting) -> String {
    let value = setting.shown.as_deref().unwrap_or("…");
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = include_str!("../../../../docs/configuration.md");

    #[test]
    fn the_reference_that_is_kept_is_up_to_date() {
        assert_eq!(KEPT, reference(), "docs/configuration.md is out of date: run `just configuration`");
    }
}
