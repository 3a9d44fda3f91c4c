//! Where the files of rooms are stored, and their limits.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adapters_objects::BucketName;
use domain::file::{FileLimits, ObjectError};

use super::cluster::ClusterMode;
use super::key::Key;
use super::parse;
use super::values::Values;
use crate::failure::Failure;
use crate::store::StoreAt;

/// The largest limit: an exabyte.
const MOST_BYTES: u64 = 1 << 60;

/// Where the bytes of files are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilesAt {
    /// In memory, beside a store in memory.
    Memory,
    /// In a directory.
    Directory {
        /// Its path.
        path: PathBuf,
        /// Set if other servers use it too.
        is_shared: bool,
    },
    /// In a bucket.
    Bucket {
        /// Its name.
        name: BucketName,
        /// The endpoint, the region, and the credentials.
        variables: BucketVariables,
    },
}

/// Environment variables with the names of AWS's own tools, whose values are not shown.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct BucketVariables(BTreeMap<String, String>);

impl BucketVariables {
    /// Names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (String, String)> {
        self.0.clone().into_iter()
    }
}

impl fmt::Debug for BucketVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl FilesAt {
    /// The failure of a command that cannot use this place.
    pub(crate) fn failure(&self, error: ObjectError) -> Failure {
        Failure::new(format_args!("cannot use {self} for files"), error).next(self.remedy())
    }

    /// What to do if this place cannot be used.
    pub(crate) const fn remedy(&self) -> &'static str {
        match self {
            Self::Memory => "turn files off with --max-file-bytes 0",
            Self::Directory { .. } => "choose a directory that the server may write with --files-directory",
            Self::Bucket { .. } => {
                "check files_bucket, AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, and AWS_SECRET_ACCESS_KEY"
            }
        }
    }
}

impl fmt::Display for FilesAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Directory { path, .. } => path.display().fmt(f),
            Self::Bucket { name, .. } => name.fmt(f),
        }
    }
}

/// The files of rooms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilesConfig {
    /// The limits.
    pub limits: FileLimits,
    /// The place.
    pub at: FilesAt,
}

pub(super) fn read(
    values: &mut Values,
    data_dir: &Path,
    store: &StoreAt,
    cluster_mode: ClusterMode,
) -> FilesConfig {
    values.section("Files");
    let bytes = |values: &mut Values, name, default, what| {
        values.read(Key::number(name, "BYTES", default, what), parse::number(0, MOST_BYTES))
    };
    let what = "Maximum size of a file in a room. 0 turns files off: their paths return 404.";
    let file_bytes = bytes(values, "max_file_bytes", "104857600", what);
    let what = "Maximum size of all files in a room together. 0 is no limit.";
    let chat_bytes = bytes(values, "max_room_file_bytes", "0", what);
    let what = "Maximum size of all files in the rooms of an organization together. 0 is no limit.";
    let organization_bytes = bytes(values, "max_organization_file_bytes", "0", what);
    let hours = Key::number(
        "unattached_file_hours",
        "HOURS",
        "24",
        "Hours until a file that no message shows is removed.",
    );
    let hours = values.read(hours, parse::number(1, 24 * 365_u32));
    let directory = Key::text(
        "files_directory",
        "DIRECTORY",
        "`files` in the data directory; in memory beside a store in memory",
        "Directory for the contents of files. Include it in backups.",
    );
    let directory = values.optional(directory, parse::text).map(PathBuf::from);
    let shared = Key::switch(
        "files_shared",
        "false",
        "Whether `files_directory` is one directory that all servers see, such as a network file system. Servers with \
         `cluster_mode = multi` start only with this, with `files_bucket`, or without files.",
    );
    let is_shared = values.read(shared, parse::switch);
    let bucket = Key::text(
        "files_bucket",
        "s3://NAME/PREFIX",
        "none",
        "Bucket of an S3-compatible service for the contents of files, instead of a directory. Endpoint, region, and \
         credentials come from the environment variables `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, and \
         `AWS_SECRET_ACCESS_KEY`.",
    );
    let bucket = values.optional(bucket, bucket_name);
    if bucket.is_some() && directory.is_some() {
        values.refuse("files_bucket", "files are either in files_directory or in files_bucket".to_owned());
    }
    if *store == StoreAt::Memory && (bucket.is_some() || directory.is_some()) {
        let problem = "with a store in memory, files are kept in memory too";
        values.refuse(if bucket.is_some() { "files_bucket" } else { "files_directory" }, problem.to_owned());
    }
    let is_for_all = is_shared && directory.is_some() || bucket.is_some();
    let at = match (bucket, directory, store) {
        (Some(name), _, _) => FilesAt::Bucket { name, variables: BucketVariables(values.of_bucket()) },
        (None, None, StoreAt::Memory) => FilesAt::Memory,
        (None, path, _) => {
            FilesAt::Directory { path: path.unwrap_or_else(|| data_dir.join("files")), is_shared }
        }
    };
    if cluster_mode == ClusterMode::Multi && file_bytes > 0 && !is_for_all {
        let problem = "several servers need one place for files that all of them see; set files_bucket, or set \
                       files_directory and files_shared = true, or turn files off with max_file_bytes = 0";
        values.refuse("files_shared", problem.to_owned());
    }
    let limit = |bytes: u64| Some(bytes).filter(|bytes| *bytes > 0);
    let limits = FileLimits {
        file_bytes,
        chat_bytes: limit(chat_bytes),
        organization_bytes: limit(organization_bytes),
        unattached: Duration::from_secs(u64::from(hours) * 60 * 60),
    };
    FilesConfig { limits, at }
}

fn bucket_name(text: &str) -> Result<BucketName, String> {
    if cfg!(not(feature = "bucket")) {
        return Err("refused: this program was built without the feature `bucket`".to_owned());
    }
    BucketName::parse(text).ok_or_else(|| format!("'{text}' is not s3://NAME or s3://NAME/PREFIX"))
}

#[cfg(test)]
mod tests {
    use super::super::with_file;
    use super::*;

    fn config(variables: &[(&str, &str)]) -> FilesConfig {
        let examined = with_file(&[], variables, "");
        assert!(examined.faults.is_empty(), "{:?}", examined.faults);
        examined.config.files
    }

    /// Services without a configuration use the same.
    #[test]
    fn the_defaults_are_those_of_the_domain() {
        let directory = |path: &str| FilesAt::Directory { path: PathBuf::from(path), is_shared: false };
        let usual = config(&[]);
        assert_eq!((usual.limits, usual.at), (FileLimits::DEFAULT, directory("data/files")));
        let memory = ("PARLANCE_DATABASE_URL", "sqlite::memory:");
        assert_eq!(config(&[memory]).at, FilesAt::Memory);
        let elsewhere = ("PARLANCE_FILES_DIRECTORY", "/srv/files");
        assert_eq!(config(&[elsewhere]).at, directory("/srv/files"));
        assert_eq!(with_file(&[], &[memory, elsewhere], "").faults.len(), 1);
        let data_dir = ("PARLANCE_DATA_DIR", "/srv/data");
        assert_eq!(config(&[data_dir]).at, directory("/srv/data/files"));
    }

    #[cfg(feature = "bucket")]
    #[test]
    fn a_bucket_takes_the_place_of_a_directory() {
        let bucket = ("PARLANCE_FILES_BUCKET", "s3://files/parlance");
        let name = BucketName::parse(bucket.1).unwrap();
        let at = FilesAt::Bucket { name: name.clone(), variables: BucketVariables::default() };
        let secret = ("AWS_SECRET_ACCESS_KEY", "a-secret");
        let with_key = config(&[bucket, secret]).at;
        let variables = BucketVariables(BTreeMap::from([(secret.0.to_owned(), secret.1.to_owned())]));
        assert_eq!(with_key, FilesAt::Bucket { name, variables });
        assert!(!format!("{with_key:?}").contains("a-secret"), "{with_key:?}");
        assert_eq!(config(&[bucket]).at, at);
        let several = [("PARLANCE_DATABASE_URL", "postgres://u@h/d"), ("PARLANCE_CLUSTER_MODE", "multi")];
        assert_eq!(config(&[&several[..], &[bucket]].concat()).at, at);
        for wrong in
            [vec![bucket, ("PARLANCE_FILES_DIRECTORY", "/srv")], vec![("PARLANCE_FILES_BUCKET", "files")]]
        {
            let faults = with_file(&[], &wrong, "").faults;
            assert_eq!(faults.iter().map(|fault| fault.key.as_str()).collect::<Vec<_>>(), ["files_bucket"]);
        }
    }

    #[test]
    fn several_servers_need_a_shared_directory() {
        let several = [("PARLANCE_DATABASE_URL", "postgres://u@h/d"), ("PARLANCE_CLUSTER_MODE", "multi")];
        let with = |more| [&several[..], &[more]].concat();
        let faults = with_file(&[], &several, "").faults;
        assert_eq!(faults.iter().map(|fault| fault.key.as_str()).collect::<Vec<_>>(), ["files_shared"]);
        let own = with_file(&[], &with(("PARLANCE_FILES_SHARED", "true")), "").faults;
        assert_eq!(own.len(), 1, "each server has a data directory of its own: {own:?}");
        let place = ("PARLANCE_FILES_DIRECTORY", "/srv/files");
        let shared = config(&[&several[..], &[place, ("PARLANCE_FILES_SHARED", "true")]].concat());
        assert!(matches!(shared.at, FilesAt::Directory { is_shared: true, .. }));
        assert_eq!(config(&with(("PARLANCE_MAX_FILE_BYTES", "0"))).limits.file_bytes, 0);
    }
}
