//! The commands of the command line: a file or folder for each, named after it.

pub(crate) mod agent;
pub(crate) mod attention;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod chat;
pub(crate) mod client;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod hold;
pub(crate) mod import;
pub(crate) mod key;
pub(crate) mod migrate;
pub(crate) mod openapi;
pub(crate) mod org;
pub(crate) mod plan;
pub(crate) mod reminder;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod usage;
pub(crate) mod user;
pub(crate) mod version;
pub(crate) mod webhook;
pub(crate) mod work;
