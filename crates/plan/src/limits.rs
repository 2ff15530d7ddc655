//! The limits of each file by its size, and whether all files fit: the file total against the instance's space, the blob total against
//! what an account may hold.

use std::collections::BTreeSet;

use crate::file::{DatabaseFile, FileKind};
use crate::storage::{GB_OF_TB, Step, Storage};

/// What files have and come to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// Of each file, in the order of the list.
    pub files: Vec<FileLimits>,
    /// All files together, tempdb's among them, in GB.
    pub file_gb: f64,
    /// Their blobs together, in GB. Files of tempdb have none.
    pub blob_gb: f64,
    /// What does not fit.
    pub broken: Vec<Broken>,
    /// MB a second by which a log may grow at most, whatever its size.
    pub log_mb_per_s: Option<f64>,
}

/// What a file has by its size.
#[derive(Debug, Clone, PartialEq)]
pub struct FileLimits {
    /// Its limits; absent for tempdb, and for a file that no blob holds.
    pub step: Option<Step>,
    /// Its blob, in GB.
    pub blob_gb: Option<f64>,
    /// GB that it can grow by and have the same limits.
    pub same_gb: f64,
    /// What more gigabytes would bring.
    pub next: Option<Next>,
}

/// The next size that brings a file more.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// The smallest size in whole GB.
    pub size_gb: f64,
    /// What it has then.
    pub step: Step,
}

/// A limit that files are over.
#[derive(Debug, Clone, PartialEq)]
pub enum Broken {
    /// All files together.
    Space {
        /// GB that they take.
        file_gb: f64,
        /// GB that the instance has.
        space_gb: f64,
    },
    /// All blobs together.
    Blobs {
        /// GB that they take.
        blob_gb: f64,
        /// GB that they may take.
        most_gb: f64,
    },
    /// How many files there are.
    Files {
        /// So many.
        files: usize,
        /// The most.
        most: u32,
    },
    /// How many databases of users there are.
    Databases {
        /// So many.
        databases: usize,
        /// The most.
        most: u32,
    },
    /// The files of tempdb.
    Tempdb {
        /// Of which kind.
        kind: FileKind,
        /// GB that they take.
        file_gb: f64,
        /// GB that they may take.
        most_gb: f64,
    },
    /// A file.
    Size {
        /// Its place in the list.
        file: usize,
        /// The most GB that such a file may have.
        most_gb: f64,
    },
}

/// Computes the limits of files on a storage.
pub fn limits(files: &[DatabaseFile], storage: &Storage<'_>) -> Limits {
    let all: Vec<FileLimits> = files.iter().map(|file| of_file(file, storage)).collect();
    let file_gb = files.iter().map(|file| file.size_gb).sum();
    let blob_gb = all.iter().filter_map(|file| file.blob_gb).sum();
    let mut broken = Vec::new();
    if let Some(space_gb) = storage.space_gb().filter(|space| file_gb > *space) {
        broken.push(Broken::Space { file_gb, space_gb });
    }
    if let Some(most_gb) = storage.blobs_gb().filter(|most| blob_gb > *most) {
        broken.push(Broken::Blobs { blob_gb, most_gb });
    }
    if let Some(most) = storage.tier.files.filter(|most| files.len() > *most as usize) {
        broken.push(Broken::Files { files: files.len(), most });
    }
    broken.extend(too_many_databases(files, storage));
    broken.extend(too_large_tempdb(files, storage));
    let too_large = files.iter().enumerate().filter_map(|(at, file)| {
        let most_gb = largest_gb(file, storage).filter(|most| file.size_gb > *most)?;
        Some(Broken::Size { file: at, most_gb })
    });
    broken.extend(too_large);
    Limits { files: all, file_gb, blob_gb, broken, log_mb_per_s: storage.log_of_database_mb_per_s() }
}

fn too_many_databases(files: &[DatabaseFile], storage: &Storage<'_>) -> Option<Broken> {
    let most = storage.tier.databases?;
    let of_users = files.iter().filter(|file| !file.is_of_tempdb() && !file.is_of_system());
    let databases = of_users.map(|file| file.database.to_lowercase()).collect::<BTreeSet<_>>().len();
    (databases > most as usize).then_some(Broken::Databases { databases, most })
}

fn too_large_tempdb(files: &[DatabaseFile], storage: &Storage<'_>) -> Vec<Broken> {
    let of = |(kind, most_gb): (FileKind, Option<f64>)| {
        let own = files.iter().filter(|file| file.is_of_tempdb() && file.kind == kind);
        let (file_gb, most_gb) = (own.map(|file| file.size_gb).sum::<f64>(), most_gb?);
        (file_gb > most_gb).then_some(Broken::Tempdb { kind, file_gb, most_gb })
    };
    [FileKind::Data, FileKind::Log].into_iter().zip(storage.tempdb_gb()).filter_map(of).collect()
}

/// The largest file of its kind, in GB.
fn largest_gb(file: &DatabaseFile, storage: &Storage<'_>) -> Option<f64> {
    if file.is_of_tempdb() {
        return None;
    }
    let by_kind = match file.kind {
        FileKind::Data => storage.tier.data_file_tib,
        FileKind::Log => storage.tier.log_file_tib,
        FileKind::Container => None,
    };
    let by_blob = storage.steps.last().map(|step| step.blob_gb);
    [by_kind.map(|tib| tib * GB_OF_TB), by_blob].into_iter().flatten().reduce(f64::min)
}

pub(crate) fn of_file(file: &DatabaseFile, storage: &Storage<'_>) -> FileLimits {
    let step = storage.step(file.size_gb).filter(|_| !file.is_of_tempdb());
    let Some(step) = step else {
        return FileLimits { step: None, blob_gb: None, same_gb: 0.0, next: None };
    };
    let most_gb = largest_gb(file, storage).unwrap_or(f64::INFINITY);
    let next = storage.next(step).map(|(next, above_gb)| Next { size_gb: above_gb.floor() + 1.0, step: next.clone() });
    let next = next.filter(|next| next.size_gb <= most_gb);
    let same_to = next.as_ref().map_or(step.blob_gb, |next| next.size_gb - 1.0);
    let blob_gb = storage.blob_gb(file.size_gb);
    FileLimits { step: Some(step.clone()), blob_gb, same_gb: (same_to.min(most_gb) - file.size_gb).max(0.0), next }
}

#[cfg(test)]
mod tests {
    use plimsoll_catalog::{Catalog, Date};
    use proptest::prelude::*;

    use super::*;
    use crate::storage::{StorageError, Wishes};

    const DAY: Date = Date { year: 2018, month: 12, day: 18 };

    fn storage(wishes: Wishes) -> Storage<'static> {
        Storage::on(Catalog::builtin().unwrap(), wishes).unwrap()
    }

    fn of_2018() -> Storage<'static> {
        storage(Wishes { day: Some(DAY), ..Wishes::default() })
    }

    fn file(database: &str, name: &str, size_gb: f64) -> DatabaseFile {
        DatabaseFile::new(database, name, FileKind::Data, size_gb)
    }

    fn same(sizes: &[f64]) -> Vec<DatabaseFile> {
        sizes.iter().enumerate().map(|(at, size)| file("shop", &at.to_string(), *size)).collect()
    }

    /// Reference 3.11-6.
    #[test]
    fn sizes_snap_up_to_the_next_step_bounds_included() {
        let storage = of_2018();
        let sizes = [32.0, 128.0, 150.0, 256.0, 257.0, 900.0, 1126.4, 5000.0];
        let steps: Vec<f64> = sizes.iter().map(|size| storage.step(*size).unwrap().blob_gb).collect();
        assert_eq!(steps, [128.0, 128.0, 256.0, 256.0, 512.0, 1024.0, 2048.0, 8192.0]);
        let largest = storage.step(5000.0).unwrap();
        assert_eq!((largest.iops, largest.mb_per_s, &largest.name), (None, None, &None), "nobody published them");
        assert_eq!(storage.step(8192.1), None);
        let later = storage_of(2022, 6, 2);
        assert_eq!(later.step(5000.0).unwrap().iops, Some(12_500.0));
        assert_eq!(later.step(150.0).map(|step| step.blob_gb), Some(512.0));
    }

    fn storage_of(year: u16, month: u8, day: u8) -> Storage<'static> {
        storage(Wishes { day: Some(Date { year, month, day }), ..Wishes::default() })
    }

    /// Reference 3.11-7.
    #[test]
    fn seven_files_of_1_1_tb_fit_and_eight_do_not() {
        let storage = of_2018();
        let seven = limits(&same(&[1126.4; 7]), &storage);
        assert_eq!((seven.blob_gb, seven.broken.as_slice()), (14_336.0, [].as_slice()));
        let eight = limits(&same(&[1126.4; 8]), &storage);
        let [Broken::Space { file_gb, space_gb }] = eight.broken.as_slice() else { panic!("{:?}", eight.broken) };
        assert!((file_gb - 9011.2).abs() < 1e-9 && (*space_gb - 8192.0).abs() < 1e-9);
        // 281 small files take 35.1 TB of blobs long before they fill the space.
        let small = limits(&same(&[1.0; 281]), &storage);
        assert_eq!(small.broken, [Broken::Blobs { blob_gb: 35_968.0, most_gb: 35_840.0 }]);
    }

    /// Reference 3.11-8, and the sums of the published script's sample, of inputs made for it.
    #[test]
    fn tempdb_counts_as_files_and_not_as_blobs() {
        let mut files = same(&[900.0, 600.0, 150.0, 40.0, 8.4474]);
        files.push(file("TempDB", "tempdev", 350.0));
        let found = limits(&files, &of_2018());
        assert!((found.file_gb - 2048.4474).abs() < 1e-9, "{}", found.file_gb);
        assert_eq!(Some(found.blob_gb), Some(1024.0 + 1024.0 + 256.0 + 128.0 + 128.0));
        assert_eq!(found.files[5], FileLimits { step: None, blob_gb: None, same_gb: 0.0, next: None });
        let more = limits(&same(&[900.0, 600.0, 400.0, 140.0, 8.4474]), &of_2018());
        assert_eq!(Some(more.blob_gb), Some(2944.0));
    }

    /// The third of the published practices: 150 to 256 GB gains nothing, 257 GB is enough for the next step.
    #[test]
    fn what_gigabytes_bring_and_which_bring_nothing() {
        let of = |storage: &Storage<'_>, size: f64| limits(&same(&[size]), storage).files.remove(0);
        let found = of(&of_2018(), 150.0);
        assert_eq!((found.same_gb, found.next.as_ref().unwrap().size_gb), (106.0, 257.0));
        assert_eq!(found.next.unwrap().step.iops, Some(2300.0));
        // 4 TB have the limits of 2 TB, and those of 8 TB are not known.
        let large = of(&of_2018(), 2000.0);
        assert_eq!((large.same_gb, large.next), (48.0, None));
        // In 2022 the step to 4 TB brings nothing either, but the one behind it does.
        let later = of(&storage_of(2022, 6, 2), 2000.0);
        assert_eq!((later.same_gb, later.next.unwrap().size_gb), (2096.0, 4097.0));
    }

    #[test]
    fn kinds_and_numbers_of_files_have_limits_of_their_own() {
        let storage = storage_of(2026, 8, 10);
        let mut files = same(&[1.0; 281]);
        files[280] = DatabaseFile { kind: FileKind::Log, size_gb: 3000.0, ..files[280].clone() };
        let broken = limits(&files, &storage).broken;
        let blobs = Broken::Blobs { blob_gb: 280.0 * 128.0 + 4096.0, most_gb: 35_840.0 };
        assert_eq!(
            broken,
            [blobs, Broken::Files { files: 281, most: 280 }, Broken::Size { file: 280, most_gb: 2048.0 }]
        );
        assert_eq!(limits(&same(&[9000.0]), &storage).broken, [Broken::Size { file: 0, most_gb: 8192.0 }]);
    }

    /// What the pages of 2022-06-02 and 2026-08-10 print, and the known issue that both point to.
    #[test]
    fn later_pages_have_blobs_databases_and_tempdb_too() {
        for day in [Date { year: 2022, month: 6, day: 15 }, Date { year: 2026, month: 9, day: 1 }] {
            let on = |vcores| storage(Wishes { day: Some(day), vcores, ..Wishes::default() });
            let space = |vcores| on(Some(vcores)).space_gb();
            assert_eq!((space(4), space(8), space(16)), (Some(2048.0), Some(8192.0), Some(16384.0)));
            // 248 files of 1 GB and one of 1.2 TB take 35 TB, as the page has it.
            let mut files = same(&[1.0; 248]);
            files.push(file("shop", "large", 1228.8));
            let found = limits(&files, &on(None));
            assert_eq!((found.blob_gb, found.broken.as_slice()), (35_840.0, [].as_slice()));
            files.push(file("shop", "one more", 1.0));
            assert!(matches!(limits(&files, &on(None)).broken[..], [Broken::Blobs { .. }]));
            // A blob of 256 GB holds 150, whose limits go on to 512.
            assert_eq!(Some(limits(&same(&[150.0, 5000.0]), &on(None)).blob_gb), Some(256.0 + 8192.0));
            // The limits go on to 4,097, which is more than 4 TB.
            assert_eq!(Some(limits(&same(&[4096.0, 4097.0]), &on(None)).blob_gb), Some(4096.0 + 8192.0));
            let of = |count: u32| (0..count).map(|at| file(&at.to_string(), "f", 1.0)).chain([file("MSDB", "m", 1.0)]);
            assert_eq!(limits(&of(100).collect::<Vec<_>>(), &on(None)).broken, []);
            let many = limits(&of(101).collect::<Vec<_>>(), &on(None)).broken;
            assert_eq!(many, [Broken::Databases { databases: 101, most: 100 }]);
            let tempdb = |gb| limits(&[file("tempdb", "t", gb), file("tempdb", "u", 1.0)], &on(Some(4))).broken;
            assert_eq!(tempdb(95.0), []);
            let over = Broken::Tempdb { kind: FileKind::Data, file_gb: 97.0, most_gb: 96.0 };
            assert_eq!(tempdb(96.0), [over]);
        }
    }

    #[test]
    fn an_instance_has_the_space_that_its_day_allows() {
        let catalog = Catalog::builtin().unwrap();
        let on = |day: Option<Date>, vcores, space_gb| {
            Storage::on(catalog, Wishes { day, vcores, space_gb }).map(|storage| storage.space_gb())
        };
        assert_eq!(on(None, Some(8), None), Ok(Some(8192.0)));
        assert_eq!(on(None, Some(4), Some(1000.0)), Ok(Some(1000.0)));
        assert_eq!(on(Some(Date { year: 2022, month: 7, day: 1 }), Some(8), None), Ok(Some(8192.0)));
        let said = |result: Result<_, StorageError>| result.unwrap_err().to_string();
        assert_eq!(
            said(on(None, Some(4), Some(4096.0))),
            "General Purpose of 2026-08-10 with 4 vCores has 2048 GB at most, so not 4096"
        );
        assert!(said(on(None, Some(5), None)).contains("no instance of 5 vCores; it has those of 4, 8, 16"));
        let early = Some(Date { year: 2017, month: 1, day: 1 });
        assert_eq!(said(on(early, None, None)), "nothing is known of service 'azure-sql-mi' before 2018-12-18");
        let rate = |day, vcores| {
            Storage::on(catalog, Wishes { day, vcores, space_gb: None }).unwrap().tier.log_mb_per_second(vcores)
        };
        assert_eq!((rate(Some(DAY), None), rate(None, Some(8)), rate(None, None)), (Some(22.0), Some(36.0), None));
        assert_eq!(rate(None, Some(80)), Some(120.0));
    }

    proptest! {
        #[test]
        fn a_file_gets_the_smallest_blob_that_holds_it(size in 0.01..8192.0_f64) {
            let storage = of_2018();
            let step = storage.step(size).unwrap();
            prop_assert!(step.blob_gb >= size);
            prop_assert!(storage.steps.iter().all(|other| other.blob_gb < size || other.blob_gb >= step.blob_gb));
            let found = limits(&same(&[size]), &storage).files.remove(0);
            if let Some(next) = found.next {
                prop_assert!(storage.step(next.size_gb).unwrap().iops > step.iops);
                prop_assert_eq!(storage.step(next.size_gb - 1.0).unwrap().iops, step.iops);
                prop_assert!((next.size_gb - 1.0 - size - found.same_gb).abs() < 1e-9);
            }
        }
    }
}
