//! What tells hardware of one's own apart, whatever it is called: files of one name may say different things.

use plimsoll_hardware::{DeviceSpec, Role, Spec};
use xxhash_rust::xxh3::xxh3_64;

/// A hash of what hardware consists of. A machine in the short form keeps the hash that it had when there was no other
/// form, so that its earlier runs are found. Hence the shape of the text.
pub fn of(spec: &Spec) -> u64 {
    let device = |role| {
        let DeviceSpec { volume, governor, caps, .. } = spec.device(role);
        format!("DeviceSpec {{ volume: {volume:?}, governor: {governor:?}, caps: {caps:?} }}")
    };
    let own = |role| if spec.is_apart(role) { format!("Some({})", device(role)) } else { "None".to_owned() };
    let caps = spec.caps.iter().map(|cap| format!("Cap {{ name: {:?}, limits: {:?} }}", cap.name, cap.limits));
    let caps = caps.collect::<Vec<_>>().join(", ");
    let Spec { page_bytes, memory, cpu, client, .. } = spec;
    let [data, log] = [Role::Data, Role::Log].map(device);
    let [temp, movement] = [Role::Temp, Role::Movement].map(own);
    let is_short = spec.placement.iter().all(|(file, device)| String::from(file.clone()) == device);
    let more = if is_short { String::new() } else { format!("{:?}{:?}", spec.devices, spec.placement) };
    let text = format!(
        "Spec {{ name: \"\", page_bytes: {page_bytes:?}, memory: {memory:?}, cpu: {cpu:?}, data: {data}, log: {log}, \
         temp: {temp}, movement: {movement}, caps: [{caps}], client: {client:?} }}{more}"
    );
    // A field that came later changes no hash where it says what held before.
    xxh3_64(text.replace(", is_latency_whole: false", "").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(text: &str) -> u64 {
        of(&Spec::parse("mine.toml", text).unwrap())
    }

    /// The numbers of the first release.
    #[test]
    fn the_short_form_keeps_its_hash() {
        assert_eq!(of_text(include_str!("../../../examples/hardware/log-latency.toml")), 0x3368_e206_8407_d316);
        let all = "memory = '8MiB'\n[cpu]\nstatement_time = '40us'\n[caps.vm]\niops = 900\n[data]\ndisks = 4\ncaps = ['vm']\n\
                   governor = { bandwidth = '18MiB/s' }\ndisk = { iops = 300 }\n[log]\nwrite_latency = '2ms'\ncaps = ['vm']\n\
                   [temp]\nbandwidth = '9MiB/s'\n[movement]\nbandwidth = '60MiB/min'\n[client]\nrequest_time = '100us'";
        assert_eq!(of_text(all), 0xde4e_609a_d763_96ae);
    }

    #[test]
    fn what_lies_where_tells_machines_apart() {
        let text = |log: &str| {
            format!("[devices.a]\niops = 5\n[devices.b]\niops = 5\n[placement]\ndata = 'a'\ntemp = 'b'\nlog = '{log}'")
        };
        assert_ne!(of_text(&text("a")), of_text(&text("b")));
        assert_eq!(of_text("[data]\niops = 5"), of_text("name = 'x'\n[devices.data]\niops = 5"));
    }
}
