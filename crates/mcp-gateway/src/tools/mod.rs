//! The tools, by subject.

pub(crate) mod attention;
pub(crate) mod inbox;
pub(crate) mod memory;
pub(crate) mod rooms;
pub(crate) mod send;
pub(crate) mod work;

use domain::page::{PageRequest, Slice};
use http_wire::error::ApiError;
use http_wire::openapi::schema::whole;
use http_wire::strict_json::{ObjectReader, Rejected};
use serde::Serialize;
use serde_json::Value;

/// The last page that a list has.
const MAX_PAGE: u32 = 10_000;

/// A result.
fn shown(value: impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(value).map_err(|_| ApiError::defect("a result cannot be shown"))
}

/// A whole number from 1 to `most`; `default` if it is not given.
fn number(
    body: &mut ObjectReader<'_>,
    name: &'static str,
    most: u32,
    default: u32,
    about: &'static str,
) -> Result<u32, Rejected> {
    let given = body.number_if_given(name, whole(1, most.into()).about(about), 1..=most)?;
    Ok(given.unwrap_or(default))
}

/// The number of a page, from 1.
fn page(body: &mut ObjectReader<'_>) -> Result<u32, Rejected> {
    number(body, "page", MAX_PAGE, 1, "The page, 1 by default.")
}

/// Page `number` of pages of `size` rows.
const fn numbered(number: u32, size: u32) -> PageRequest {
    PageRequest { slice: Slice::Numbered { number, size }, count: true }
}
