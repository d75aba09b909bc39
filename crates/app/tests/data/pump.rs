//! The network side of a pump.

//= docs/infusion.md#1-1-discovery
//# A pump MUST announce itself on `ward/+/hello` within ten seconds of power-on.
pub fn announce(bus: &mut Bus, pump: &Pump) -> Result<(), BusError> {
    let hello = Hello { serial: &pump.serial, firmware: pump.firmware, calibrated_on: pump.calibrated_on };
    bus.publish(&format!("ward/{}/hello", pump.ward), &serde_json::to_vec(&hello)?)
}

//= docs/infusion.md#1-2-loss-of-connection
//# When the broker cannot be reached, the pump MUST continue the running infusion.
fn on_disconnect(&mut self) {
    // Соединение восстанавливается в фоне, инфузия не прерывается.
    self.state = State::Offline { since: Instant::now(), attempt: 0 };
}

//= docs/infusion.md#1-2-loss-of-connection
//= type=todo
//= reason=The triangle is drawn by the display firmware, release 2.15
//# It MAY show a warning triangle

//= docs/infusion.md#2-dosage
//= type=implication
//# The rate MUST be between 0.1 and 999.9 ml/h.
const RATE_ML_PER_HOUR: RangeInclusive<f32> = 0.1..=999.9;

//= docs/infusion.md#2-dosage
//# A change of more than 25 % MUST be confirmed by a second person.
fn needs_second_person(old: f32, new: f32) -> bool {
    (new - old).abs() / old > 0.20
}

//= docs/infusion.md#3-trevoga
//= type=test
//# Отключение звука MUST NOT длиться дольше двух минут.
#[test]
fn silence_ends_after_two_minutes() {
    assert_eq!(Alarm::default().silence_for(Duration::from_secs(600)).remaining(), Duration::from_secs(120));
}

//= docs/infusion.md#5-maintenance
//# The filter MUST be replaced every 90 days.
fn filter_due() {}
