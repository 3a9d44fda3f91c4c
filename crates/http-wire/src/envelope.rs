//! Successful responses: `{"data": …}`, lists also with `metadata`.

use actix_web::http::StatusCode;
use actix_web::http::header::{ContentType, LOCATION};
use actix_web::{HttpResponse, web};
use serde::Serialize;

use crate::error::ApiError;
use crate::response_budget::FREE_BYTES;

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

    /// 202: the work on the record continues, and `location` shows its progress.
    pub fn accepted(location: String, data: T) -> HttpResponse {
        HttpResponse::build(StatusCode::ACCEPTED).insert_header((LOCATION, location)).json(Self { data })
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
    /// These rows, with metadata.
    pub fn new(rows: impl IntoIterator<Item = T>, metadata: M) -> Self {
        Self { data: rows.into_iter().collect(), meta: None, metadata }
    }

    /// These rows, with the metadata under both its names.
    pub fn with_meta(rows: impl IntoIterator<Item = T>, metadata: M) -> Self
    where
        M: Clone,
    {
        let meta = Some(metadata.clone());
        Self { data: rows.into_iter().collect(), meta, metadata }
    }

    /// 200.
    pub fn ok(rows: impl IntoIterator<Item = T>, metadata: M) -> HttpResponse {
        HttpResponse::Ok().json(Self::new(rows, metadata))
    }

    /// The list as JSON.
    ///
    /// # Errors
    /// If a value has no form in JSON.
    pub fn encode(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// 200 with the list that `encode` returns, of about `bytes` bytes. A large one is encoded on another thread,
/// since encoding megabytes would delay every other connection of this one.
///
/// # Errors
/// 500 if the rows cannot be encoded.
pub async fn ok_off_thread<F>(bytes: usize, encode: F) -> Result<HttpResponse, ApiError>
where
    F: FnOnce() -> serde_json::Result<Vec<u8>> + Send + 'static,
{
    let encoded = if bytes as u64 > FREE_BYTES {
        web::block(encode).await.map_err(|_| ApiError::defect("the thread that encodes a list has ended"))?
    } else {
        encode()
    };
    let body = encoded.map_err(|_| ApiError::defect("a list cannot be encoded"))?;
    Ok(HttpResponse::Ok().content_type(ContentType::json()).body(body))
}
