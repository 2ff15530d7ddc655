//! The reader of the plan cache, driven by a script.

use plimsoll_engine::database::Telemetry as _;
use plimsoll_engine::queries::WaitClass as Waited;
use plimsoll_measurement::counters::{Item, Measure};

use super::*;
use crate::database::MssqlDatabase;

/// What only the question about stamps has.
const STAMPS: &str = "SYSUTCDATETIME()), DATEDIFF_BIG";

fn counted(plan: &'static str, hash: &'static str, created: i64, executions: i64) -> Vec<Value<'static>> {
    let mut row =
        vec![Text("0x02"), BigInt(0), BigInt(-1), Text(plan), BigInt(1), Text(hash), Text("0x0F"), BigInt(created)];
    row.extend([executions, 100, 200, 90, 5, 60, 4, 2].map(BigInt));
    row
}

fn script() -> Script {
    everything()
        .row(STAMPS, &[BigInt(9_000_000), BigInt(1_000_000), Text("16.0.1000.6")])
        .on(
            "plan_generation_num",
            [Said::Rows(vec![
                counted("0x06A", "0x00000000000000A1", 5, 7),
                counted("0x06B", "0x00000000000000A1", 6, 8),
                // The server has none for some.
                counted("0x06C", "0x0000000000000000", 7, 9),
            ])],
        )
        .row("SELECT /* plimsoll watch */ DISTINCT", &[Text("0x00000000000000FF")])
        .on(
            "dm_exec_plan_attributes",
            [Said::Rows(vec![
                vec![Text("0x00000000000000A1"), Text("SELECT 1 WHERE a = 'x'"), Text("sales"), Text("dbo.find")],
                vec![Text("0x00000000000000B2"), Text("SELECT 2"), Text("sales"), Text("")],
                vec![Text("0x00000000000000C3"), Text("SELECT 3"), Text("sales"), Text("dbo.one")],
                vec![Text("0x00000000000000C3"), Text("SELECT 3"), Text("sales"), Text("dbo.other")],
            ])],
        )
        .on(
            "dm_exec_cached_plans",
            [Said::Rows(vec![
                [Text("Adhoc")].into_iter().chain([4, 65_536, 5, 3, 49_152].map(BigInt)).collect(),
                // What is no number is no plan.
                vec![Text("Proc"), Null, Null, Null, Null, Null],
            ])],
        )
        .on(
            "blocking_session_id",
            [Said::Rows(vec![
                vec![
                    BigInt(9_500_000),
                    BigInt(4),
                    BigInt(51),
                    BigInt(1),
                    Text("running"),
                    Text("suspended"),
                    Text("LCK_M_X"),
                    BigInt(52),
                    Text("0x00000000000000A1"),
                    BigInt(9_000_000),
                    Text("sales"),
                ],
                vec![
                    BigInt(9_500_000),
                    BigInt(4),
                    BigInt(52),
                    BigInt(2),
                    Text("sleeping"),
                    Null,
                    Null,
                    Null,
                    Null,
                    Null,
                    Null,
                ],
                vec![
                    BigInt(9_500_000),
                    BigInt(4),
                    BigInt(53),
                    BigInt(3),
                    Text("running"),
                    Text("runnable"),
                    Text("PAGEIOLATCH_SH"),
                    BigInt(0),
                    Null,
                    BigInt(9_400_000),
                    Text("sales"),
                ],
            ])],
        )
}

#[test]
fn a_row_is_a_statement_of_a_plan_and_is_summed_by_the_hash_of_its_query() {
    let (_, clock) = clock();
    let database = MssqlDatabase::open(script().connector(URL, &clock)).unwrap();
    let mut sampler = database.query_sampler().unwrap().unwrap();
    let snapshot = sampler.snapshot().unwrap();
    assert_eq!((snapshot.start.clock_us, snapshot.end.server.started_us), (9_000_000, 1_000_000));
    let [one, other, without] = &snapshot.rows[..] else { panic!("{:?}", snapshot.rows) };
    assert!(one.id != other.id && one.item == other.item && without.item != one.item && without.item.0 != 0);
    assert_eq!((one.created_us, one.longest_us), (Some(5), Some(90)));
    let values = [Measure::Executions, Measure::CpuUs, Measure::ElapsedUs, Measure::Rows, Measure::LogicalReadPages]
        .map(|measure| one.values.get(measure).unwrap());
    assert_eq!(values, [7, 100, 200, 5, 60]);
    assert_eq!(sampler.own().len(), 1);
    let texts = sampler.texts(&[one.item, Item(0xB2), Item(0xC3)]).unwrap();
    assert_eq!(texts[0].text.as_deref(), Some("SELECT ? WHERE a = ?"));
    // The same statement may stand in several procedures, and in none.
    let objects: Vec<Option<&str>> = texts.iter().map(|text| text.object.as_deref()).collect();
    assert_eq!(objects, [Some("dbo.find"), Some(""), Some("several procedures")]);
    let plans = sampler.cached_plans().unwrap();
    let [plans] = &plans[..] else { panic!("{plans:?}") };
    assert_eq!((plans.kind.as_str(), plans.plans, plans.uses, plans.once), ("Adhoc", 4, 5, 3));
    assert_eq!((plans.bytes, plans.once_bytes), (65_536, 49_152));
}

#[test]
fn sessions_have_their_waits_and_who_holds_them_up() {
    let (_, clock) = clock();
    let database = MssqlDatabase::open(script().connector(URL, &clock)).unwrap();
    let mut sampler = database.query_sampler().unwrap().unwrap();
    let sample = sampler.sessions().unwrap().unwrap();
    assert_eq!((sample.at_us, sample.connected), (9_500_000, 4));
    let [waiting, idle, ready] = &sample.sessions[..] else { panic!("{sample:?}") };
    let class = |session: &plimsoll_engine::queries::SeenSession| session.wait.as_ref().map(|wait| wait.class);
    assert_eq!((class(waiting), &waiting.blocked_by[..]), (Some(Waited::Locks), &[52][..]));
    // It holds a transaction open, and one that could run waits for a CPU alone.
    assert!(!idle.is_active && ready.is_active && class(ready).is_none());
}
