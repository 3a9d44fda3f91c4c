//! Statements that are prepared once per connection, for the hot paths.
//!
//! Parsing and planning a statement takes SQLite many times longer than running it along an index,
//! and diesel does not cache every statement. It prepares an UPDATE, a `sql_query`, and anything
//! with `eq_any` at every use; it writes the text again, as the key of the cache, for boxed queries
//! and for a column that may be left out (an `Option` of an `Insertable`, unless
//! `treat_none_as_default_value` is off). And `first` binds a LIMIT, on whose value SQLite's plan
//! depends, so that a cached statement is planned again each time; a row with a unique key is
//! therefore read with `get_result`.
//!
//! Statements of hot paths are therefore of diesel's other kinds, or [`statement!`], which is
//! cached by its type; and a list is one value, JSON that `json_each` reads.

use std::marker::PhantomData;
use std::slice::Iter;

use diesel::RunQueryDsl;
use diesel::expression::{AppearsOnTable, Expression, ValidGrouping};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Bool, HasSqlType, Text as SqlText};
use diesel::sqlite::{Sqlite, SqliteConnection};

/// The statement with this text, in one or several parts, with `?` for its values, and rows of the
/// type after `=>`. Every `?` must stand for a value.
macro_rules! statement {
    ($($part:expr),+) => {
        $crate::statement::statement!($($part),+ => ())
    };
    ($($part:expr),+ => $row:ty) => {{
        struct ThisText;
        impl $crate::statement::Text for ThisText {
            const PIECES: &'static [$crate::statement::Piece] = {
                const PARTS: &[&str] = &[$($part),+];
                &$crate::statement::pieces::<{ $crate::statement::number(PARTS) }>(PARTS)
            };
        }
        $crate::statement::Statement::<ThisText, (), $row>::new()
    }};
}
pub(crate) use statement;

/// The text of a statement; every statement has its own type for it, which is the key of the cache.
pub(crate) trait Text: 'static {
    /// The text, cut at compile time: diesel walks a statement several times for each use.
    const PIECES: &'static [Piece];
}

/// A piece of a text.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    text: &'static str,
    /// Set if a value follows.
    has_value: bool,
}

/// The number of [`pieces`].
pub(crate) const fn number(mut parts: &[&str]) -> usize {
    let mut number = 0;
    while let [part, others @ ..] = parts {
        let (bytes, mut at) = (part.as_bytes(), 0);
        while at < bytes.len() {
            number += (bytes[at] == b'?') as usize;
            at += 1;
        }
        number += 1;
        parts = others;
    }
    number
}

/// The pieces of a text in parts, with `?` for values: each ends at a `?` or with its part.
pub(crate) const fn pieces<const N: usize>(mut parts: &[&'static str]) -> [Piece; N] {
    let mut pieces = [Piece { text: "", has_value: false }; N];
    let mut index = 0;
    while let [part, others @ ..] = parts {
        let (mut rest, mut at) = (*part, 0);
        while at < rest.len() {
            if rest.as_bytes()[at] == b'?' {
                let (text, after) = rest.split_at(at);
                pieces[index] = Piece { text, has_value: true };
                index += 1;
                (rest, at) = (after.split_at(1).1, 0);
            } else {
                at += 1;
            }
        }
        pieces[index] = Piece { text: rest, has_value: false };
        index += 1;
        parts = others;
    }
    pieces
}

/// The number of values among pieces.
const fn values(mut pieces: &[Piece]) -> usize {
    let mut number = 0;
    while let [piece, others @ ..] = pieces {
        number += piece.has_value as usize;
        pieces = others;
    }
    number
}

/// A statement with the text `T` and its values; its rows have the SQL type `Row`.
pub(crate) struct Statement<T, Values, Row> {
    values: Values,
    of: PhantomData<fn() -> (T, Row)>,
}

impl<T: Text, Row> Statement<T, (), Row> {
    pub(crate) const fn new() -> Self {
        Self { values: (), of: PhantomData }
    }
}

impl<T: Text, Before, Row> Statement<T, Before, Row> {
    /// Binds the value of the next `?`, of the SQL type `Type`.
    pub(crate) fn bind<Type, Value>(self, value: Value) -> Statement<T, Bound<Before, Type, Value>, Row>
    where
        Value: ToSql<Type, Sqlite>,
    {
        Statement { values: Bound { before: self.values, value, of: PhantomData }, of: PhantomData }
    }
}

/// A value, and those before it.
pub(crate) struct Bound<Before, Type, Value> {
    before: Before,
    value: Value,
    of: PhantomData<fn() -> Type>,
}

/// The values of a statement, in order.
pub(crate) trait Values {
    /// The number of values.
    const NUMBER: usize;

    /// Pushes each value after the piece that it follows.
    fn walk<'b>(
        &'b self,
        pieces: &mut Iter<'static, Piece>,
        out: &mut AstPass<'_, 'b, Sqlite>,
    ) -> QueryResult<()>;
}

impl Values for () {
    const NUMBER: usize = 0;

    fn walk<'b>(&'b self, _: &mut Iter<'static, Piece>, _: &mut AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        Ok(())
    }
}

impl<Before: Values, Type, Value> Values for Bound<Before, Type, Value>
where
    Sqlite: HasSqlType<Type>,
    Value: ToSql<Type, Sqlite>,
{
    const NUMBER: usize = Before::NUMBER + 1;

    fn walk<'b>(
        &'b self,
        pieces: &mut Iter<'static, Piece>,
        out: &mut AstPass<'_, 'b, Sqlite>,
    ) -> QueryResult<()> {
        self.before.walk(pieces, out)?;
        for piece in pieces {
            out.push_sql(piece.text);
            if piece.has_value {
                break;
            }
        }
        out.push_bind_param::<Type, Value>(&self.value)
    }
}

impl<T: Text, V: Values, Row> QueryFragment<Sqlite> for Statement<T, V, Row> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        const { assert!(values(T::PIECES) == V::NUMBER, "as many values as placeholders are needed") };
        let mut pieces = T::PIECES.iter();
        self.values.walk(&mut pieces, &mut out)?;
        pieces.for_each(|piece| out.push_sql(piece.text));
        Ok(())
    }
}

impl<T: Text, V, Row> QueryId for Statement<T, V, Row> {
    type QueryId = T;
}

impl<T, V, Row> Query for Statement<T, V, Row> {
    type SqlType = Row;
}

impl<T, V, Row> RunQueryDsl<SqliteConnection> for Statement<T, V, Row> {}

/// The condition that a column's number is in a list, which is JSON.
#[derive(QueryId)]
pub(crate) struct Listed<Column> {
    column: Column,
    list: String,
}

impl<Column: Expression<SqlType = BigInt>> Listed<Column> {
    pub(crate) const fn new(column: Column, list: String) -> Self {
        Self { column, list }
    }
}

impl<Column: Expression> Expression for Listed<Column> {
    type SqlType = Bool;
}

impl<Column: AppearsOnTable<Source>, Source> AppearsOnTable<Source> for Listed<Column> {}

impl<Column: ValidGrouping<By>, By> ValidGrouping<By> for Listed<Column> {
    type IsAggregate = Column::IsAggregate;
}

impl<Column: QueryFragment<Sqlite>> QueryFragment<Sqlite> for Listed<Column> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.column.walk_ast(out.reborrow())?;
        out.push_sql(" IN (SELECT value FROM json_each(");
        out.push_bind_param::<SqlText, _>(&self.list)?;
        out.push_sql("))");
        Ok(())
    }
}
