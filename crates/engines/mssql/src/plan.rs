//! The plan by which a statement was run, out of the server's XML (showplan): its operators, and how many CPUs worked on it.

use plimsoll_engine::{Plan, Result, Value};

use super::abilities::{Abilities, Ability};
use super::control::{Control, text_of, whole};
use super::counters::pattern_of;
use super::sql;

/// The plan of a text as it was sent; `None` if it is not in the server's cache, or nobody may see it.
pub(super) fn of(control: &mut Control, sql: &str, abilities: Abilities) -> Result<Option<Plan>> {
    if !abilities.has(Ability::SeePlans) {
        return Ok(None);
    }
    let pattern = format!("%{}", pattern_of(sql));
    let rows = control.rows(sql::PLAN, &[Value::Text(&pattern)])?;
    Ok(rows.first().and_then(|row| {
        let shape = shape(&text_of(row, 1)?)?;
        let joins_by_loops = shape.contains("Nested Loops");
        Some(Plan { shape, joins_by_loops, degree: whole(row, 0).and_then(|degree| u32::try_from(degree).ok()) })
    }))
}

/// The operators of a plan, each with its inputs in parentheses behind it, and with a star where it works on several CPUs.
fn shape(xml: &str) -> Option<String> {
    let mut shape = String::new();
    // At each depth, whether an operator has been written there.
    let mut written = vec![false];
    for tag in xml.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or((tag, ""));
        if tag == "/RelOp" {
            if written.pop()? {
                shape.push(')');
            }
        } else if tag.starts_with("RelOp ") {
            let physical = attribute(tag, "PhysicalOp")?;
            let logical = attribute(tag, "LogicalOp").filter(|logical| *logical != physical);
            let is_inner = written.len() > 1;
            match (written.last_mut()?, is_inner) {
                (true, true) => shape.push_str(", "),
                (true, false) => shape.push_str("; "),
                (first, true) => {
                    *first = true;
                    shape.push_str(" (");
                }
                (first, false) => *first = true,
            }
            shape.push_str(physical);
            if let Some(logical) = logical {
                shape.push(' ');
                shape.push_str(&logical.to_lowercase());
            }
            if attribute(tag, "Parallel").is_some_and(|word| matches!(word, "1" | "true")) {
                shape.push('*');
            }
            written.push(false);
        }
    }
    (!shape.is_empty()).then_some(shape)
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, behind) = tag.split_once(&format!(" {name}=\""))?;
    behind.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARALLEL: &str = include_str!("tests/plans/parallel.xml");
    const SERIAL: &str = include_str!("tests/plans/serial.xml");

    #[test]
    fn a_plan_has_its_operators_in_their_order() {
        assert_eq!(
            shape(SERIAL).unwrap(),
            "Compute Scalar (Stream Aggregate aggregate (Nested Loops inner join \
             (Top (Clustered Index Seek), Top (Clustered Index Scan))))"
        );
        assert_eq!(
            shape(PARALLEL).unwrap(),
            "Compute Scalar (Stream Aggregate aggregate (Parallelism gather streams* (Stream Aggregate aggregate* \
             (Nested Loops inner join* (Parallelism distribute streams* (Top (Clustered Index Seek)), \
             Top (Clustered Index Scan))))))"
        );
    }

    #[test]
    fn what_is_no_plan_has_none() {
        for xml in ["", "<ShowPlanXML/>", "</RelOp>", "<RelOp NodeId=\"0\">", "<RelOp"] {
            assert_eq!(shape(xml), None, "{xml}");
        }
    }
}
