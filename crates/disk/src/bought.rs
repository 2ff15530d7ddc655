//! What a volume should deliver, by what was bought: disks of the catalogue, how they are put together, the machine that has them, and
//! the account that they are in. Figures are held against the smallest of these limits.

use plimsoll_catalog::Catalog;
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_hardware::{BoughtDisk, BoughtVolume, LARGEST_IO_BYTES, Layout, Role, Spec};
use plimsoll_measurement::cell::size_of_block;
use plimsoll_measurement::{Ceiling, LimitScope, Stripe, units};

use crate::built::{Built, How};

/// The stripe unit that the advice asks for: Storage Spaces' interleave, and the allocation unit of a database's file system.
pub const UNIT_BYTES: u64 = 64 << 10;

/// Nobody makes smaller or larger ones: a sector of the disk is the least.
const LEAST_UNIT_BYTES: u64 = 512;
const LARGEST_UNIT_BYTES: u64 = 256 << 20;

/// Disks beyond these are a slip of the pen.
const MOST_DISKS: usize = 1024;

/// What somebody bought, in their words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purchase {
    /// `16 x azure-unmanaged-disk/standard@2014-06`; without a number it is one disk.
    pub disks: String,
    /// Size of the machine: `E8bds_v5`.
    pub vm: Option<String>,
    /// Kind of the account: `standard`.
    pub account: Option<String>,
    /// How the disks are put together: `striped` or `spanned`; as the machine says otherwise, else striped.
    pub layout: Option<String>,
    /// Disks that a stripe covers; as the machine says otherwise, else all of them.
    pub columns: Option<usize>,
    /// Bytes on a disk before the next has its turn, or the allocation unit of the file system: `64KiB`.
    pub unit: Option<String>,
    /// How the provider keeps copies: `lrs` or `grs`.
    pub redundancy: Option<String>,
    /// How the volume is built, where the machine says it.
    pub built: Option<Built>,
}

/// What a purchase comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// The smallest limits of the volume, with the reason why no other is smaller.
    pub ceilings: Vec<Ceiling>,
    /// How many disks have to be kept at work.
    pub disks: usize,
    /// What they hold together, in bytes.
    pub bytes: u64,
    /// What would get more out of the same disks: a sentence each.
    pub advice: Vec<String>,
    /// How long an operation takes in the model, and how that is known; absent for hardware that somebody describes.
    pub times: Option<String>,
    /// The volume as a model: the device of the data.
    pub spec: Spec,
}

/// What can't be bought or built so.
fn check(purchase: &Purchase, count: usize, layout: Layout, unit_bytes: u64) -> Result<()> {
    if !(LEAST_UNIT_BYTES..=LARGEST_UNIT_BYTES).contains(&unit_bytes) {
        return Err(usage(format!("an allocation unit of {} is not from 512 B to 256 MiB", size_of_block(unit_bytes))));
    }
    if let Some(columns) = purchase.columns.filter(|columns| count == 1 && *columns != 1) {
        return Err(usage(format!(
            "{columns} columns need {columns} disks, and one was given: such as '16 x {disks}'",
            disks = purchase.disks
        )));
    }
    if layout == Layout::Spanned && purchase.columns.is_some() {
        return Err(usage("a spanned volume has no columns: leave them out, or stripe the disks".to_owned()));
    }
    if let Some(other) = purchase.redundancy.as_deref().filter(|word| !matches!(*word, "lrs" | "grs")) {
        return Err(usage(format!("--redundancy {other} is none of lrs and grs")));
    }
    Ok(())
}

/// What a volume that was bought like this should deliver for a file of this size.
///
/// # Errors
/// For an unknown name, which lists what there is, and for disks that can't be put together like this.
pub fn promise(purchase: &Purchase, file_bytes: u64) -> Result<Promise> {
    let catalog = Catalog::builtin().map_err(|error| usage(error.to_string()))?;
    let (count, name) = counted(&purchase.disks)?;
    let disk = catalog.disk_as(name).map_err(|error| usage(error.to_string()).hint(CATALOG))?;
    let cap = |service, name: &Option<String>| {
        let cap = name.as_deref().map(|name| catalog.cap(service, name));
        cap.transpose().map_err(|error| usage(error.to_string()).hint(CATALOG))
    };
    let (vm, account) = (cap("azure-vm", &purchase.vm)?, cap("azure-storage-account", &purchase.account)?);
    let unit_bytes = match &purchase.unit {
        Some(text) => units::parse_bytes(text).map_err(|error| usage(format!("--allocation-unit {text}: {error}")))?,
        None => UNIT_BYTES,
    };
    // What the machine says counts for the disks that were bought, unless the user says otherwise.
    let built = purchase.built.as_ref().filter(|built| built.disks == count).map(|built| &built.how);
    let (built_layout, built_columns) = match built {
        Some(How::Spanned) => (Some("spanned"), None),
        Some(How::Striped { columns, .. }) => (Some("striped"), Some(*columns)),
        _ => (None, None),
    };
    let columns = purchase.columns.or(built_columns).unwrap_or(count);
    let layout = match purchase.layout.as_deref().or(built_layout) {
        Some("spanned") if count > 1 => Layout::Spanned,
        Some("striped" | "spanned") | None if count == 1 => Layout::Single,
        Some("striped") | None => Layout::Striped { columns, unit_bytes },
        Some(other) => return Err(usage(format!("--layout {other} is none of striped and spanned"))),
    };
    check(purchase, count, layout, unit_bytes)?;
    let volume = BoughtVolume { disk: &disk, count, layout, vm, account };
    let spec = volume.spec().map_err(usage)?;
    let mut ceilings = named(&spec, file_bytes);
    // Of disks, machine and account each has a MB of its own: the limit shows whose it is.
    let is_decimal = |ceiling: &&mut Ceiling| {
        let bytes = (ceiling.value * units::MB as f64).round() as u64;
        ceiling.resource == "data_bandwidth" && bytes.is_multiple_of(1_000_000) && !bytes.is_multiple_of(units::MB)
    };
    for ceiling in ceilings.iter_mut().filter(is_decimal) {
        ceiling.source.push_str(", where a MB is 10^6 bytes");
    }
    let of_disks = |ceiling: &&mut Ceiling| ceiling.scope == Some(LimitScope::Device);
    for ceiling in ceilings.iter_mut().filter(|_| layout == Layout::Spanned).filter(of_disks) {
        ceiling.source.push_str(", that of one disk, as a spanned volume fills one after another");
    }
    let mut advice = Vec::new();
    if let Some(built) = purchase.built.as_ref().filter(|built| built.disks != count) {
        let bought = if count == 1 { "one disk was bought".to_owned() } else { format!("{count} disks were bought") };
        advice.push(format!("{bought}, and the volume that is tested has {}", built.words()));
    }
    match layout {
        Layout::Spanned => advice.push(format!(
            "a spanned volume fills one disk after another, so a file has one disk at work: stripe the disks{}",
            set_up(count)
        )),
        Layout::Striped { columns, .. } if columns < count => advice.push(format!(
            "{} {columns} of {count} disks at work in one place of a file: make as many columns as disks{}",
            if columns == 1 { "1 column keeps".to_owned() } else { format!("{columns} columns keep") },
            set_up(count)
        )),
        _ => {}
    }
    if unit_bytes != UNIT_BYTES {
        advice.push(format!("the allocation unit is {}: 64 KiB is that of databases; each I/O that is larger than it is cut and counts as several, and small I/Os at one \
             place of a file share a disk",
            size_of_block(unit_bytes)
        ));
    }
    if let Some(io_bytes) = disk.io_unit_bytes.filter(|bytes| *bytes > LARGEST_IO_BYTES) {
        advice.push(format!(
            "a random I/O of this disk takes as much of its bandwidth as one of {}: of small ones it has about {} a second for ever, and limits and model \
             here, which count bytes, are too high for them",
            size_of_block(io_bytes),
            units::format_significant(disk.bandwidth_bytes_per_second() * count as f64 / io_bytes as f64)
        ));
    }
    if purchase.redundancy.as_deref() == Some("grs") {
        advice.push(
            "copies in another region take from an account's limits: locally redundant storage (LRS) does not"
                .to_owned(),
        );
    }
    let of_account = account.and_then(|account| account.size.limit_of(&disk.class));
    if let Some(limit) = of_account {
        let most = (limit.iops / disk.iops).floor();
        if count as f64 > most {
            advice.push(format!(
                "an account of {} IOPS has room for {most} disks of {} IOPS: put the others into another account",
                limit.iops, disk.iops
            ));
        }
    }
    let bytes = disk.size_bytes.saturating_mul(count as u64);
    Ok(Promise { ceilings, disks: count, bytes, advice, times: Some(times(&BoughtDisk::of(&disk))), spec })
}

/// How long operations take in the model of a disk. Few providers publish that, so it is said how it is known.
fn times(BoughtDisk { read, write, .. }: &BoughtDisk) -> String {
    let ms = units::format_significant;
    format!(
        "in the model a read takes {} ms ({}) and a write {} ms ({}) on average; their spread is assumed",
        ms(read.ms),
        read.rule,
        ms(write.ms),
        write.rule
    )
}

/// The limits of a volume that figures are held against, for a file of so many bytes.
pub fn named(spec: &Spec, file_bytes: u64) -> Vec<Ceiling> {
    let is_named = |ceiling: &Ceiling| ["data_iops", "data_bandwidth"].contains(&ceiling.resource.as_str());
    let named = spec.ceilings("", file_bytes, 1).into_iter().filter(is_named);
    let volume = &spec.device(Role::Data).volume;
    // What the provider of the disks counts as one.
    let io_bytes = volume.disks.iter().map(|disk| disk.largest_io_bytes).min();
    let stripe = match volume.layout {
        Layout::Striped { columns, unit_bytes } if columns > 1 => Some(Stripe { columns: columns as u64, unit_bytes }),
        _ => None,
    };
    named
        .map(|ceiling| match ceiling.resource.as_str() {
            "data_iops" => Ceiling { io_bytes, stripe, ..ceiling },
            _ => ceiling,
        })
        .collect()
}

impl Promise {
    /// What to say of a suite that has at most so many operations under way.
    pub fn too_few_under_way(&self, most: u64) -> Option<String> {
        (most < self.disks as u64).then(|| {
            format!(
                "{} under way can't keep {} disks at work: at least as many as disks show what they deliver",
                if most == 1 { "one operation".to_owned() } else { format!("{most} operations") },
                self.disks
            )
        })
    }
}

/// How so many disks are striped: told, never done.
fn set_up(disks: usize) -> String {
    let unit = UNIT_BYTES >> 10;
    format!(
        ", on empty disks by 'lvcreate --stripes {disks} --stripesize {unit}k --extents 100%FREE --name data GROUP' (LVM), \
         'mdadm --create /dev/md0 --level=0 --raid-devices={disks} --chunk={unit} DISKS' (md), or \
         'New-VirtualDisk -ResiliencySettingName Simple -NumberOfColumns {disks} -Interleave {UNIT_BYTES} -UseMaximumSize ...' (Windows)"
    )
}

const CATALOG: &str = "'plimsoll catalog' lists kinds of disks, 'plimsoll catalog azure-vm' machines";

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message).hint("such as '16 x azure-unmanaged-disk/standard@2014-06'")
}

/// `16 x NAME`, or `NAME`.
fn counted(text: &str) -> Result<(usize, &str)> {
    let text = text.trim();
    let Some((count, name)) = text.split_once([' ', 'x', '*']).filter(|(count, _)| !count.is_empty()) else {
        return Ok((1, text));
    };
    let Ok(count) = count.parse::<usize>() else { return Ok((1, text)) };
    let name = name.trim_start_matches([' ', 'x', '*']).trim();
    if !(1..=MOST_DISKS).contains(&count) {
        return Err(usage(format!("{count} disks are not from 1 to {MOST_DISKS}")));
    }
    Ok((count, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(disks: &str) -> Purchase {
        Purchase { disks: disks.to_owned(), ..Purchase::default() }
    }

    const SIXTEEN: &str = "16 x azure-unmanaged-disk/standard@2014-06";

    fn values(purchase: &Purchase) -> Vec<f64> {
        promise(purchase, 64 << 30).unwrap().ceilings.iter().map(|ceiling| ceiling.value).collect()
    }

    #[test]
    fn the_smallest_of_disks_machine_and_account_is_the_promise() {
        assert_eq!(values(&of(SIXTEEN)), [8_000.0, 960.0]);
        assert_eq!(values(&of("azure-managed-disk/P30")), [5_000.0, 200e6 / 1_048_576.0]);
        let vm = Purchase { vm: Some("E8bds_v5".to_owned()), ..of("8 x azure-managed-disk/P30") };
        let promise = promise(&vm, 1 << 30).unwrap();
        let [iops, bandwidth] = promise.ceilings.as_slice() else { panic!() };
        assert_eq!((iops.value, bandwidth.value), (33_000.0, 930e6 / 1_048_576.0));
        assert!(
            iops.source.contains("the VM cap 'vm' of 33000 IOPS is no more than the limit of 8 disks together"),
            "{iops:?}"
        );
        assert_eq!(iops.date.as_deref(), Some("2024-07-08"));
        let account = Purchase { account: Some("standard".to_owned()), ..of("48 x azure-unmanaged-disk/standard") };
        assert_eq!(values(&account)[..1], [20_000.0]);
        let decimal = |purchase: &Purchase| {
            super::promise(purchase, 64 << 30).unwrap().ceilings[1].source.contains("where a MB is 10^6 bytes")
        };
        assert!(!decimal(&account) && decimal(&of("azure-managed-disk/P30")));
        // Its 250 MiB/s are a burst below 334 GiB: three I/Os a second of 256 KiB for each GiB last.
        let gp2 = [200, 333, 334].iter().map(|gib| values(&of(&format!("aws-ebs/gp2?size_gib={gib}")))[1]);
        assert_eq!(gp2.collect::<Vec<f64>>(), [150.0, 249.75, 250.0]);
        let bought = of("azure-managed-disk/PV2?iops=14740&mb_per_s=313");
        assert_eq!(values(&bought)[..1], [14_740.0]);
    }

    /// A block over all disks of a stripe is one I/O of each, however many units of it lie on one.
    #[test]
    fn neighbours_on_a_disk_are_one_of_its_operations() {
        let ios = |purchase: &Purchase| {
            let promise = promise(purchase, 1 << 30).unwrap();
            [8, 64, 128, 512, 1_024, 4_096].map(|kib| promise.ceilings[0].ios(kib << 10))
        };
        // Each disk counts 256 KiB as one.
        assert_eq!(ios(&of("azure-unmanaged-disk/standard")), [1, 1, 1, 2, 4, 16]);
        assert_eq!(ios(&of("4 x azure-unmanaged-disk/standard")), [1, 1, 2, 4, 4, 16]);
        assert_eq!(ios(&Purchase { columns: Some(2), ..of("4 x azure-unmanaged-disk/standard") }), [1, 1, 2, 2, 4, 16]);
        assert_eq!(ios(&of("2 x azure-managed-disk/P30")), [1, 1, 2, 2, 4, 16]);
    }

    #[test]
    fn advice_is_what_would_get_more_out_of_the_disks() {
        let advice = |purchase: &Purchase| promise(purchase, 64 << 30).unwrap().advice;
        assert_eq!(advice(&of(SIXTEEN)), Vec::<String>::new());
        let eight = Purchase { columns: Some(8), unit: Some("4KiB".to_owned()), ..of(SIXTEEN) };
        // A file within one slab is on eight of them; a larger one is on all, if not in one place.
        let of_file = |purchase: &Purchase, bytes| promise(purchase, bytes).unwrap().ceilings[0].value as u64;
        assert_eq!((of_file(&eight, 2 << 30), of_file(&eight, 64 << 30)), (4_000, 8_000));
        let said = advice(&eight);
        assert!(
            said[0].starts_with("8 columns keep 8 of 16 disks at work in one place")
                && said[1].contains("the allocation unit is 4 KiB:"),
            "{said:?}"
        );
        let spanned =
            Purchase { layout: Some("spanned".to_owned()), redundancy: Some("grs".to_owned()), ..of(SIXTEEN) };
        assert_eq!(values(&spanned)[..1], [500.0]);
        assert_eq!(advice(&spanned).len(), 2);
        let of_one = promise(&spanned, 1 << 30).unwrap().ceilings.remove(0).source;
        assert!(of_one.contains(", that of one disk, as a spanned volume"), "{of_one}");
        assert!(advice(&spanned)[0].contains("lvcreate --stripes 16 --stripesize 64k"), "{:?}", advice(&spanned));
        // The machine says how the volume is built, unless somebody knows better.
        let built = |disks, how| Purchase { built: Some(Built { disks, how }), ..of(SIXTEEN) };
        let eight = built(16, How::Striped { columns: 8, unit_bytes: 65_536 });
        assert_eq!(of_file(&eight, 1 << 30), 4_000);
        assert_eq!(of_file(&Purchase { columns: Some(16), ..eight }, 1 << 30), 8_000);
        assert_eq!(values(&built(16, How::Spanned))[..1], [500.0]);
        let other = advice(&built(1, How::One));
        assert_eq!(other, ["16 disks were bought, and the volume that is tested has one disk"]);
        let account = Purchase { account: Some("standard".to_owned()), ..of("48 x azure-unmanaged-disk/standard") };
        assert!(advice(&account)[0].contains("has room for 40 disks of 500 IOPS"), "{:?}", advice(&account));
        let made = promise(&of(SIXTEEN), 1 << 30).unwrap();
        assert_eq!((made.too_few_under_way(16), made.too_few_under_way(4).is_some()), (None, true));
    }

    #[test]
    fn what_can_t_be_bought_says_what_can() {
        let refused = |purchase: &Purchase| promise(purchase, 1 << 30).unwrap_err().message;
        let with = |change: fn(&mut Purchase)| {
            let mut purchase = of(SIXTEEN);
            change(&mut purchase);
            refused(&purchase)
        };
        assert!(refused(&of("0 x azure-managed-disk/P30")).contains("0 disks are not from 1 to 1024"));
        assert!(refused(&of("99999x azure-managed-disk/P30")).contains("99999 disks"));
        assert!(refused(&of("P30")).contains("written SERVICE/NAME"));
        assert!(refused(&of("azure-managed-disk/P31")).contains("unknown level 'P31'"));
        assert!(with(|it| it.vm = Some("E9".to_owned())).contains("unknown level 'E9' of service 'azure-vm'"));
        assert!(with(|it| it.layout = Some("mirrored".to_owned())).contains("none of striped and spanned"));
        assert!(with(|it| it.columns = Some(17)).contains("17 columns need 17 disks"));
        assert!(with(|it| it.columns = Some(0)).contains("columns must be more than 0"));
        assert!(with(|it| it.unit = Some("3KiB".to_owned())).contains("power of two"));
        assert!(with(|it| it.redundancy = Some("zrs".to_owned())).contains("none of lrs and grs"));
    }
}
