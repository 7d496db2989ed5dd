//! Gauges of tables, sessions and use cases, which are read when metrics are asked for.

use crate::apple::AppleServer;
use crate::epochs::ServedTables;
use crate::live_epochs::LiveEpochs;
use crate::metrics::apple::{AppleMetrics, ByUseCase, Medium};
use crate::metrics::placement::PlacementLabel;
use crate::metrics::{ByTable, EpochLabel, MediumLabel, Metrics};
use crate::sessions::Sessions;
use prometheus_client::encoding::text;

impl Metrics {
    /// The exposition text; gauges of tables and sessions are computed now.
    pub(crate) fn exposition(
        &self,
        tables: &ServedTables,
        sessions: &Sessions,
        apple: Option<&AppleServer>,
    ) -> String {
        if let Some(apple) = apple {
            self.apple.look(apple);
        }
        let counts = sessions.counts(|owner| owner.table.to_string());
        let (memory, disk) = sessions.bytes();
        for (medium, bytes) in [("memory", memory), ("disk", disk)] {
            self.session_bytes
                .get_or_create(&MediumLabel { medium })
                .set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        for slot in tables.all() {
            let table = slot.name();
            let live = slot.live_now();
            let served = live.as_ref().is_some_and(|live| live.newest().check().is_ok());
            self.table_up.get_or_create(&ByTable { table: table.clone() }).set(i64::from(served));
            let Some(live) = live else { continue };
            self.lies(&table, &live);
            let epoch = |generation, epoch: u64| {
                let epoch = i64::try_from(epoch).unwrap_or(i64::MAX);
                self.live.get_or_create(&EpochLabel { table: table.clone(), generation }).set(epoch);
            };
            let role = i64::from(live.newest().pin().server);
            self.server_role.get_or_create(&ByTable { table: table.clone() }).set(role);
            epoch("newest", live.newest().pin().epoch.0);
            epoch("previous", live.previous().map_or(0, |previous| previous.pin().epoch.0));
            let count = counts.get(&table).copied().unwrap_or_default();
            self.sessions.get_or_create(&ByTable { table: table.clone() }).set(count.sessions as i64);
            self.admitted.get_or_create(&ByTable { table }).set(count.in_memory as i64);
        }
        let mut out = String::new();
        match text::encode(&mut out, &self.registry) {
            Ok(()) => out,
            Err(_) => String::new(),
        }
    }

    /// Sets the gauges of a table. A placement that no longer occurs is set to 0.
    fn lies(&self, table: &str, live: &LiveEpochs) {
        for (medium, is_copy) in [("file", false), ("memory", true)] {
            let (mut huge, mut small, mut unknown) = (0, 0, 0);
            for it in live.all().filter_map(|table| table.residence()).filter(|it| it.is_copy == is_copy) {
                match it.huge_share {
                    Some(share) => {
                        let on_huge = (it.bytes as f64 * share) as u64;
                        huge += on_huge;
                        small += it.bytes.saturating_sub(on_huge);
                    }
                    None => unknown += it.bytes,
                }
            }
            for (pages, bytes) in [("huge", huge), ("small", small), ("unknown", unknown)] {
                let label = PlacementLabel { table: table.to_owned(), medium, pages };
                self.lying.get_or_create(&label).set(i64::try_from(bytes).unwrap_or(i64::MAX));
            }
        }
    }
}

impl AppleMetrics {
    /// Sets the gauges to the current values.
    fn look(&self, apple: &AppleServer) {
        let gauge = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (memory, disk) = apple.keys.bytes();
        for (medium, bytes) in [("memory", memory), ("disk", disk)] {
            self.key_bytes.get_or_create(&Medium { medium }).set(gauge(bytes));
        }
        let (live, counts) = (apple.shelf.live(), apple.keys.counts());
        for (name, all) in live.use_cases() {
            let by = ByUseCase { use_case: name.to_owned() };
            let newest = all.first().and_then(|newest| counts.get(newest.key_id()));
            let count = newest.copied().unwrap_or_default();
            self.configurations.get_or_create(&by).set(gauge(all.len() as u64));
            self.keys.get_or_create(&by).set(gauge(count.sessions as u64));
            self.keys_in_memory.get_or_create(&by).set(gauge(count.in_memory as u64));
        }
    }
}
