//! Query strings, read strictly: an unknown parameter or a wrong value is 422.

use std::fmt::Display;
use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::web::{Data, Query};
use actix_web::{FromRequest, HttpRequest};
use domain::secret::Secret;
use domain::store::StoreError;
use domain::text::NamePart;
use serde_json::{Value, json};

use crate::cursor::CursorSeal;
use crate::error::ApiError;
use crate::openapi::Parameter;
use crate::openapi::schema::{Schema, flag, positive, text, uuid, word};
use crate::strict_json::{Faults, NOT_AN_ID, Rejected, UNKNOWN_WORD};

/// The maximum number of items of one parameter; no parameter has that many choices.
const MAX_ITEMS: usize = 100;

/// A type that can be read from a query string.
pub trait FromQuery: Sized + 'static {
    /// Takes every known parameter from `query`, and records all faults instead of returning at the
    /// first. Remaining parameters are unknown.
    ///
    /// This also describes the parameters (`parameters`): an operation is documented as it is read.
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected>;
}

/// The parameters of a request.
#[derive(Clone, Debug)]
pub struct StrictQuery<T>(pub T);

/// An operation without parameters.
#[derive(Clone, Copy, Debug)]
pub struct NoQuery;

impl FromQuery for NoQuery {
    fn from_query(_: &mut QueryReader) -> Result<Self, Rejected> {
        Ok(Self)
    }
}

impl<T: FromQuery> FromRequest for StrictQuery<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(of_request(request).map(Self))
    }
}

/// Reads the parameters of a request.
pub(crate) fn of_request<T: FromQuery>(request: &HttpRequest) -> Result<T, ApiError> {
    let unwired = || StoreError::Broken("cursors have no seal".into());
    let seal = request.app_data::<Data<CursorSeal>>().ok_or_else(unwired)?;
    parse(request.query_string(), seal)
}

/// Reads parameters from the text behind the question mark.
pub fn parse<T: FromQuery>(text: &str, seal: &CursorSeal) -> Result<T, ApiError> {
    let unreadable = |_| ApiError::validation().with_detail("", "the query string cannot be read");
    let parameters = Query::<Vec<(String, String)>>::from_query(text).map_err(unreadable)?.into_inner();
    let mut query =
        QueryReader { parameters, seal: seal.clone(), faults: Faults::default(), description: None };
    let value = T::from_query(&mut query);
    query.finish()?;
    value.map_err(|_: Rejected| ApiError::validation())
}

/// The parameters of a query, for the API's document: recorded while an empty query is read.
pub(crate) fn parameters<T: FromQuery>() -> Vec<Parameter> {
    // An empty query has no cursor to open.
    let seal = CursorSeal::new(Secret([0; 32]));
    let (parameters, faults) = (Vec::new(), Faults::default());
    let mut query = QueryReader { parameters, seal, faults, description: Some(Vec::new()) };
    let _ = T::from_query(&mut query);
    query.description.unwrap_or_default()
}

/// Parameters that are taken one by one, each with its schema; remaining ones are unknown.
#[derive(Debug)]
pub struct QueryReader {
    parameters: Vec<(String, String)>,
    seal: CursorSeal,
    faults: Faults,
    /// Set while the query is described.
    description: Option<Vec<Parameter>>,
}

impl QueryReader {
    /// The seal of this installation's cursors.
    pub const fn seal(&self) -> &CursorSeal {
        &self.seal
    }

    fn describe(&mut self, name: &'static str, description: &'static str, schema: impl FnOnce() -> Value) {
        if let Some(parameters) = &mut self.description {
            parameters.push(Parameter { name, schema: schema(), description });
        }
    }

    /// The parameter's text; giving it twice is a fault.
    pub fn text(
        &mut self,
        name: &'static str,
        schema: Schema,
        description: &'static str,
    ) -> Result<Option<String>, Rejected> {
        self.describe(name, description, || schema.value());
        self.given(name)
    }

    fn given(&mut self, name: &str) -> Result<Option<String>, Rejected> {
        let mut values = self.parameters.extract_if(.., |(given, _)| given == name).map(|(_, value)| value);
        let first = values.next();
        match values.count() {
            0 => Ok(first),
            _ => Err(self.fault(name, "is given more than once")),
        }
    }

    /// The parameter parsed by `parse`; `fault` is recorded if that returns nothing.
    pub fn parsed<T>(
        &mut self,
        name: &'static str,
        schema: Schema,
        description: &'static str,
        fault: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Rejected> {
        let text = self.text(name, schema, description)?;
        text.map(|text| parse(&text).ok_or_else(|| self.fault(name, fault))).transpose()
    }

    /// One of `words`, read by `parse`.
    pub fn word<T>(
        &mut self,
        name: &'static str,
        words: &'static [&'static str],
        description: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Rejected> {
        self.parsed(name, word(words), description, UNKNOWN_WORD, parse)
    }

    /// One of the words of a table, with its value.
    pub fn named<T: Copy>(
        &mut self,
        name: &'static str,
        table: &Named<T>,
        description: &'static str,
    ) -> Result<Option<(&'static str, T)>, Rejected> {
        self.describe(name, description, || words_of(table));
        let text = self.given(name)?;
        text.map(|text| find(table, &text).ok_or_else(|| self.fault(name, UNKNOWN_WORD))).transpose()
    }

    /// An id.
    pub fn id<T>(
        &mut self,
        name: &'static str,
        description: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Rejected> {
        self.parsed(name, uuid(), description, NOT_AN_ID, parse)
    }

    /// Words of a table, in the order in which they are given: separated by commas, or as the
    /// parameter repeated, or both. The pointer of a fault names the item's index.
    pub fn items<T: Copy>(
        &mut self,
        name: &'static str,
        table: &Named<T>,
        description: &'static str,
    ) -> Result<Vec<T>, Rejected> {
        self.describe(name, description, || json!({"type": "array", "items": words_of(table)}));
        let given = self.parameters.extract_if(.., |(given, _)| given == name).map(|(_, value)| value);
        let given = given.collect::<Vec<_>>();
        let texts = given.iter().flat_map(|value| value.split(',')).take(MAX_ITEMS);
        let mut rejected = None;
        let mut items = Vec::new();
        for (index, text) in texts.enumerate() {
            match find(table, text) {
                Some((_, item)) => items.push(item),
                None => rejected = Some(self.fault(&format!("{name}/{index}"), UNKNOWN_WORD)),
            }
        }
        rejected.map_or(Ok(items), Err)
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &'static str, description: &'static str) -> Result<Option<bool>, Rejected> {
        self.parsed(name, flag(), description, "must be true or false", |text| text.parse().ok())
    }

    /// A number from 1; one that is too large for the machine counts as the largest.
    pub fn positive(
        &mut self,
        name: &'static str,
        description: &'static str,
    ) -> Result<Option<u32>, Rejected> {
        self.parsed(name, positive(), description, "must be a whole number from 1", |text| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().unwrap_or(u32::MAX);
            (digits && number > 0).then_some(number)
        })
    }

    /// `q`: a part of a name or a handle.
    pub fn name_part(&mut self) -> Result<Option<NamePart>, Rejected> {
        let part = self.parsed(
            "q",
            text().max(NamePart::MAX_CHARS),
            "Part of the name or handle, ignoring case.",
            "should be at most 201 character(s)",
            |text| (text.chars().count() <= NamePart::MAX_CHARS).then(|| NamePart::new(text)),
        );
        Ok(part?.flatten())
    }

    /// Records a fault of the parameter.
    pub fn fault(&mut self, name: &str, fault: impl Display) -> Rejected {
        self.faults.wrong(format!("/{name}"), fault)
    }

    fn finish(mut self) -> Result<(), ApiError> {
        for (name, _) in std::mem::take(&mut self.parameters) {
            let name = name.chars().take(100).collect::<String>();
            let fault = format!("Unexpected field: {name}");
            self.fault(&name, fault);
        }
        self.faults.into_result()
    }
}

/// The words of a parameter, each with its value.
pub type Named<T> = [(&'static str, T)];

fn find<T: Copy>(table: &Named<T>, text: &str) -> Option<(&'static str, T)> {
    table.iter().find(|(word, _)| *word == text).copied()
}

fn words_of<T>(table: &Named<T>) -> Value {
    let words = table.iter().map(|(word, _)| *word).collect::<Vec<_>>();
    json!({"type": "string", "enum": words})
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Colors(Vec<u8>, Option<bool>);

    impl FromQuery for Colors {
        fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
            let colors = query.items("color", &[("red", 1), ("blue", 2)], "");
            let bright = query.flag("bright", "");
            Ok(Self(colors?, bright?))
        }
    }

    fn read(text: &str) -> Result<Colors, ApiError> {
        parse(text, &CursorSeal::new(domain::secret::Secret([7; 32])))
    }

    #[test]
    fn items_are_separated_or_repeated() {
        for (text, expected) in [
            ("", vec![]),
            ("color=red", vec![1]),
            ("color=red,blue", vec![1, 2]),
            ("color=blue&bright=true&color=red,red", vec![2, 1, 1]),
            ("color=red%2Cblue", vec![1, 2]),
        ] {
            assert_eq!(read(text).unwrap().0, expected, "{text}");
        }
        assert_eq!(read("bright=false").unwrap().1, Some(false));
    }

    #[test]
    fn a_wrong_item_is_named_by_its_index() {
        let pointers = |text: &str| {
            let error = read(text).map(|_| ()).unwrap_err();
            error.details().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(pointers("color=red,green&color=blue,"), ["/color/1", "/color/3"]);
        assert_eq!(pointers("color=&bright=1"), ["/bright", "/color/0"]);
        assert_eq!(pointers("color=RED"), ["/color/0"]);
        let flood = format!("color={}", "green,".repeat(100_000));
        assert!(pointers(&flood).len() <= MAX_ITEMS);
    }
}
