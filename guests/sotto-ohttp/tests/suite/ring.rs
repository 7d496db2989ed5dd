//! Tests of a gateway's keys over time.

use sotto_ohttp::client;
use sotto_ohttp::config::KeyConfig;
use sotto_ohttp::gateway::{self, OpenError};
use sotto_ohttp::gateway_keys::{GatewayKeys, RotationSchedule};
use sotto_testkit::rng::seeded;

const ROTATION: RotationSchedule = RotationSchedule { every: 100, after: 30 };

#[test]
fn a_key_is_told_for_a_while_and_opened_with_for_a_while_longer() {
    let rng = &mut seeded("ring");
    let mut ring = GatewayKeys::new(ROTATION);
    assert!(ring.is_due(1000) && ring.told().is_empty());
    ring = ring.turned(1000, rng).unwrap();
    let [first] = &KeyConfig::read_all(&ring.told()).unwrap()[..] else { panic!("one") };
    let (early, _) = client::seal(first, b"early", rng).unwrap();
    assert!(!ring.is_due(1099) && !ring.is_due(3), "a clock that goes back makes no keys");
    assert!(ring.is_due(1100));
    ring = ring.turned(1100, rng).unwrap();
    let [second] = &KeyConfig::read_all(&ring.told()).unwrap()[..] else { panic!("one") };
    assert!(second.id != first.id && second.public != first.public);
    assert_eq!(gateway::open(ring.keys(), &early).unwrap().plain, b"early");
    let written = ring.to_text();
    let again = GatewayKeys::read(ROTATION, &written).unwrap();
    assert_eq!((again.to_text(), again.told()), (written, ring.told()));
    assert_eq!(gateway::open(again.keys(), &early).unwrap().plain, b"early");
    assert!(again.is_due(1130));
    ring = again.turned(1130, rng).unwrap();
    assert_eq!(gateway::open(ring.keys(), &early).err(), Some(OpenError::UnknownKey));
    // After a long pause no old key is left, and no id is reused immediately.
    ring = ring.turned(9000, rng).unwrap();
    let [third] = &KeyConfig::read_all(&ring.told()).unwrap()[..] else { panic!("one") };
    assert_eq!((ring.keys().count(), third.id), (1, second.id.wrapping_add(1)));
}

#[test]
fn ids_go_around() {
    let rng = &mut seeded("around");
    let mut ring = GatewayKeys::new(ROTATION);
    for i in 0..600 {
        ring = ring.turned(i * 100, rng).unwrap();
        let ids: std::collections::BTreeSet<u8> = ring.keys().map(|key| key.id()).collect();
        assert_eq!(ids.len(), ring.keys().count());
    }
    assert_eq!(ring.keys().count(), 2);
}

#[test]
fn what_is_no_file_of_keys_is_refused() {
    let ring = GatewayKeys::new(ROTATION).turned(5, &mut seeded("file")).unwrap();
    let text = ring.to_text();
    let refused = |text: &str| assert!(GatewayKeys::read(ROTATION, text).is_none(), "taken: {text}");
    refused("");
    refused(&text.replace("keys/1", "keys/2"));
    refused(&text.replace(" 5 ", " 05 "));
    refused(&text.replace(" 5 ", " 5 6 "));
    refused(&text.replace(" 5 ", " -5 "));
    refused(&text.replace("\n1 ", "\n300 "));
    refused(&text.to_uppercase().replace("SOTTO-OHTTP-KEYS", "sotto-ohttp-keys"));
    refused(text.trim_end().strip_suffix(|_: char| true).unwrap());
    let line = text.lines().nth(1).unwrap();
    refused(&format!("{}{line}\n", text.as_str()));
    refused(&format!("{}{}", text.as_str(), "\n".repeat(70_000)));
}
