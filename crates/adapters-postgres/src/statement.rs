//! Statements that are written in SQL.

use std::borrow::Cow;
use std::marker::PhantomData;

use diesel::expression::AsExpression;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{Error, QueryResult};
use diesel::sql_types::SingleValue;

/// An SQL statement with `?` for its values, and rows of the type `Row`.
///
/// Unlike diesel's own it is prepared once per connection, so there must be few different texts.
pub(crate) struct Statement<'v, Row> {
    text: Cow<'static, str>,
    values: Vec<Box<dyn QueryFragment<Pg> + Send + 'v>>,
    row: PhantomData<fn() -> Row>,
}

/// Makes a statement from this text; every `?` in it stands for a value.
pub(crate) fn statement<'v, Row>(text: impl Into<Cow<'static, str>>) -> Statement<'v, Row> {
    Statement { text: text.into(), values: Vec::new(), row: PhantomData }
}

impl<'v, Row> Statement<'v, Row> {
    /// Binds the value of the next `?`, of the SQL type `Type`.
    pub(crate) fn bind<Type, Value>(mut self, value: Value) -> Self
    where
        Type: SingleValue,
        Value: AsExpression<Type>,
        Value::Expression: QueryFragment<Pg> + Send + 'v,
    {
        self.values.push(Box::new(value.as_expression()));
        self
    }
}

impl<Row> QueryFragment<Pg> for Statement<'_, Row> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let mut values = self.values.iter();
        let mut parts = self.text.split('?');
        out.push_sql(parts.next().unwrap_or_default());
        for part in parts {
            let value = values.next().ok_or_else(|| uneven(&self.text))?;
            value.walk_ast(out.reborrow())?;
            out.push_sql(part);
        }
        if values.next().is_some() { Err(uneven(&self.text)) } else { Ok(()) }
    }
}

fn uneven(text: &str) -> Error {
    Error::QueryBuilderError(format!("as many values as placeholders are needed: {text}").into())
}

impl<Row> QueryId for Statement<'_, Row> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Row> Query for Statement<'_, Row> {
    type SqlType = Row;
}
