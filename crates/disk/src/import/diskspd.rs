//! `DiskSpd`'s XML (`-Rxml`): what was asked for stands in its profile, what came of it in a time span behind it.

use roxmltree::{Document, Node};

use super::check::{check_parts, check_shape};
use super::result::{Beside, ImportError, Imported, Latency, is_amount};

/// Reads all time spans of a file.
pub(super) fn read(text: &str) -> Result<Vec<Imported>, ImportError> {
    // Some programs add lines behind the XML.
    let end = text.rfind("</Results>").map_or(text.len(), |at| at + "</Results>".len());
    check_parts(text, b"<")?;
    check_shape(text)?;
    let document = Document::parse(&text[..end]).map_err(|error| {
        let at = error.pos();
        ImportError::at(at.row as usize, format!("this is no whole XML ({error})"))
    })?;
    let root = document.root_element();
    if !root.has_tag_name("Results") {
        let problem = format!("the XML is of '{}' and not of 'Results'", root.tag_name().name());
        return Err(ImportError::at(1, problem));
    }
    let profile = child(root, "Profile").and_then(|profile| child(profile, "TimeSpans"));
    let asked: Vec<Node<'_, '_>> = profile.into_iter().flat_map(|spans| children(spans, "TimeSpan")).collect();
    let spans: Vec<Node<'_, '_>> = children(root, "TimeSpan").collect();
    if asked.len() != spans.len() {
        let problem = format!("{} time spans were asked for, and {} are there", asked.len(), spans.len());
        return Err(ImportError { line: None, problem });
    }
    asked.iter().zip(&spans).map(|(asked, span)| run(*asked, *span)).collect()
}

fn child<'a, 'i>(of: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    of.children().find(|node| node.has_tag_name(name))
}

fn children<'a, 'i: 'a>(of: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    of.children().filter(move |node| node.has_tag_name(name))
}

fn line(node: Node<'_, '_>) -> usize {
    node.document().text_pos_at(node.range().start).row as usize
}

/// The number in a child of this name; an error where it is there and no number from 0.
fn amount(of: Node<'_, '_>, name: &str) -> Result<Option<f64>, ImportError> {
    let Some(node) = child(of, name) else { return Ok(None) };
    let text = node.text().unwrap_or_default().trim();
    let number = text.parse::<f64>().ok().filter(|number| is_amount(*number));
    number.map(Some).ok_or_else(|| ImportError::at(line(node), format!("{name} '{text}' is no number from 0")))
}

fn needed(of: Node<'_, '_>, name: &str) -> Result<f64, ImportError> {
    let missing = || ImportError::at(line(of), format!("'{}' has no '{name}'", of.tag_name().name()));
    amount(of, name)?.ok_or_else(missing)
}

fn run(asked: Node<'_, '_>, span: Node<'_, '_>) -> Result<Imported, ImportError> {
    let targets: Vec<Node<'_, '_>> =
        child(asked, "Targets").into_iter().flat_map(|targets| children(targets, "Target")).collect();
    let [target] = targets.as_slice() else {
        let problem = format!("a time span has {} targets: only those of one are taken", targets.len());
        return Err(ImportError::at(line(asked), problem));
    };
    let block_bytes = needed(*target, "BlockSize")? as u64;
    let queue_depth = needed(*target, "RequestCount")? as u32;
    let seconds = needed(span, "TestTimeSeconds")?;
    if block_bytes == 0 || seconds <= 0.0 {
        return Err(ImportError::at(line(span), "a time span has a size of its I/Os and seconds above 0"));
    }
    let [mut operations, mut reads, mut bytes] = [0.0; 3];
    let mut threads = 0;
    for thread in children(span, "Thread") {
        threads += 1;
        for target in children(thread, "Target") {
            let (of_reads, of_writes) = (needed(target, "ReadCount")?, needed(target, "WriteCount")?);
            if let Some(all) = amount(target, "IOCount")?.filter(|all| (all - of_reads - of_writes).abs() > 0.5) {
                let problem = format!("{all} I/Os are not {of_reads} reads and {of_writes} writes");
                return Err(ImportError::at(line(target), problem));
            }
            let moved = needed(target, "ReadBytes")? + needed(target, "WriteBytes")?;
            if let Some(all) = amount(target, "BytesCount")?.filter(|all| (all - moved).abs() > 0.5) {
                let problem = format!("{all} bytes are not the {moved} that were read and written");
                return Err(ImportError::at(line(target), problem));
            }
            reads += of_reads;
            operations += of_reads + of_writes;
            bytes += moved;
        }
    }
    if operations <= 0.0 {
        return Err(ImportError::at(line(span), "no thread made an I/O"));
    }
    if let Some(all) = amount(span, "ThreadCount")?.filter(|all| (all - f64::from(threads)).abs() > 0.5) {
        let problem = format!("{all} threads worked, and {threads} are told of");
        return Err(ImportError::at(line(span), problem));
    }
    // 0 where threads were given for the whole test and not for each file.
    let is_other = |each: &f64| *each > 0.5 && (each - f64::from(threads)).abs() > 0.5;
    if let Some(each) = amount(*target, "ThreadsPerFile")?.filter(is_other) {
        let problem = format!("{each} threads were asked for, and {threads} are told of");
        return Err(ImportError::at(line(span), problem));
    }
    // The last I/O of a file may be cut.
    if (bytes - operations * block_bytes as f64).abs() > 0.01 * bytes {
        let problem = format!("{bytes} bytes are not {operations} I/Os of {block_bytes} bytes");
        return Err(ImportError::at(line(span), problem));
    }
    let is_other = |ratio: &f64| *ratio <= 0.0 && reads < operations || *ratio >= 100.0 && reads > 0.0;
    if let Some(ratio) = amount(*target, "WriteRatio")?.filter(is_other) {
        let problem = format!("{ratio} % of the I/Os were to be writes, and {reads} of {operations} were reads");
        return Err(ImportError::at(line(span), problem));
    }
    if let Some(rates) = child(span, "Iops") {
        for (name, count) in [("ReadIops", reads), ("WriteIops", operations - reads)] {
            let is_other = |rate: &f64| (rate - count / seconds).abs() > 0.01 * rate + 1.0;
            if let Some(rate) = amount(rates, name)?.filter(is_other) {
                let problem = format!("{name} of {rate} are not {count} in {seconds} s");
                return Err(ImportError::at(line(rates), problem));
            }
        }
    }
    // -g is a limit of each thread, in bytes a millisecond unless it is one of operations.
    let limit = amount(*target, "Throughput")?.filter(|limit| *limit > 0.0);
    let is_of_operations = child(*target, "Throughput").and_then(|limit| limit.attribute("unit")) == Some("IOPS");
    let each = if is_of_operations { 1.0 } else { 1e3 / block_bytes as f64 };
    // Writes that are confirmed once they are on the medium; -h, and -Sh in its place, say both.
    let is_through = ["WriteThrough", "DisableAllCache"].iter().any(|name| child(*target, name).is_some());
    Ok(Imported {
        label: String::new(),
        line: Some(line(span)),
        read_percent: (100.0 * reads / operations).round() as u32,
        is_random: child(*target, "Random").is_some() || child(*target, "RandomDistribution").is_some(),
        block_bytes,
        threads,
        queue_depth: queue_depth.max(1),
        seconds,
        path: child(*target, "Path").and_then(|path| path.text()).map(|path| path.trim().to_owned()),
        file_bytes: amount(*target, "FileSize")?.map(|size| size as u64).filter(|size| *size > 0),
        is_direct: Some(child(*target, "DisableAllCache").is_some() || child(*target, "DisableOSCache").is_some()),
        sync: (operations > reads && is_through).then_some("o_dsync"),
        writes_per_sync: None,
        rate_per_s: limit.map(|limit| limit * each * f64::from(threads)),
        held_back_by: None,
        unsaid: Vec::new(),
        free_side: None,
        beside: Beside::No,
        errors: 0,
        iops: operations / seconds,
        bytes_per_second: bytes / seconds,
        latency: child(span, "Latency").map(latency).transpose()?.unwrap_or_default(),
    })
}

fn latency(of: Node<'_, '_>) -> Result<Latency, ImportError> {
    let us = |node, name| Ok::<_, ImportError>(amount(node, name)?.map(|ms| ms * 1e3));
    let mut percentiles_us = Vec::new();
    let (mut min_us, mut max_us) = (None, None);
    for bucket in children(of, "Bucket") {
        let percent = needed(bucket, "Percentile")?;
        // A run of reads alone may have no totals.
        let total = match us(bucket, "TotalMilliseconds")? {
            Some(total) => Some(total),
            None => us(bucket, "ReadMilliseconds")?.or(us(bucket, "WriteMilliseconds")?),
        };
        let Some(total) = total else { continue };
        if percent <= 0.0 {
            min_us = Some(total);
        } else if percent >= 100.0 {
            max_us = Some(total);
        } else {
            percentiles_us.push((percent, total));
        }
    }
    percentiles_us.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !percentiles_us.is_sorted_by(|a, b| a.1 <= b.1) {
        return Err(ImportError::at(line(of), "the percentiles do not rise"));
    }
    let mean_us = match us(of, "AverageTotalMilliseconds")? {
        Some(mean) => Some(mean),
        None => us(of, "AverageReadMilliseconds")?,
    };
    // A mean of many times may be rounded otherwise than each of them.
    let is_beyond =
        |mean: f64| max_us.is_some_and(|max| mean > max + 1.0) || min_us.is_some_and(|min| mean < min - 1.0);
    if mean_us.is_some_and(is_beyond) {
        return Err(ImportError::at(line(of), "the mean response time is not between the shortest and the longest"));
    }
    let latency = Latency { min_us, mean_us, max_us, percentiles_us, ..Latency::default() };
    let checked = latency.check_percentiles(min_us, max_us).and_then(|()| latency.check_mean());
    checked.map_err(|problem| ImportError::at(line(of), problem))?;
    Ok(latency)
}
