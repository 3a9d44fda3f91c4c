//! Successful responses: `{"data": …}`, lists with `metadata` beside it.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde::Serialize;

/// One record.
#[derive(Debug, Serialize)]
pub struct Data<T> {
    data: T,
}

impl<T: Serialize> Data<T> {
    /// 200.
    pub fn ok(data: T) -> HttpResponse {
        HttpResponse::Ok().json(Self { data })
    }

    /// 201.
    pub fn created(data: T) -> HttpResponse {
        HttpResponse::build(StatusCode::CREATED).json(Self { data })
    }
}

/// A record at the top level and once more under `data`, so that readers of either form find it,
/// for the generic paths.
#[derive(Debug, Serialize)]
pub struct BareAndData<T> {
    #[serde(flatten)]
    bare: T,
    data: T,
}

impl<T: Serialize + Clone> BareAndData<T> {
    /// 201.
    pub fn created(record: T) -> HttpResponse {
        HttpResponse::build(StatusCode::CREATED).json(Self { bare: record.clone(), data: record })
    }
}

/// One record with metadata.
#[derive(Debug, Serialize)]
pub struct Described<T, M> {
    data: T,
    metadata: M,
}

impl<T: Serialize, M: Serialize> Described<T, M> {
    /// 200.
    pub fn ok(data: T, metadata: M) -> HttpResponse {
        HttpResponse::Ok().json(Self { data, metadata })
    }
}

/// A part of a list.
#[derive(Debug, Serialize)]
pub struct List<T, M> {
    data: Vec<T>,
    /// The same as `metadata`, for the lists where old clients expect it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<M>,
    metadata: M,
}

impl<T: Serialize, M: Serialize> List<T, M> {
    /// 200.
    pub fn ok(rows: impl IntoIterator<Item = T>, metadata: M) -> HttpResponse {
        HttpResponse::Ok().json(Self { data: rows.into_iter().collect(), meta: None, metadata })
    }

    /// 200, with the metadata under both its names.
    pub fn ok_with_meta(rows: impl IntoIterator<Item = T>, metadata: M) -> HttpResponse
    where
        M: Clone,
    {
        let meta = Some(metadata.clone());
        HttpResponse::Ok().json(Self { data: rows.into_iter().collect(), meta, metadata })
    }
}
