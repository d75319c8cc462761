//! Power cuts at any step, repeatedly: acknowledged records are kept in order, and groups are whole or absent.

use super::*;

/// Number of runs in CI.
const SEEDS: u64 = 1_000;
const THREADS: usize = 4;

/// Expected records.
#[derive(Default)]
struct Known {
    id: Option<LogId>,
    /// Acknowledged: must be there.
    acknowledged: Vec<Record>,
    /// Later groups, of which a prefix may be there.
    unanswered: Vec<Vec<Record>>,
}

impl Known {
    /// Compares the log with the expectation. Everything found must stay from now on.
    fn check(&mut self, id: LogId, found: Vec<Record>) -> Result<(), String> {
        let known = self.acknowledged.len();
        if found.get(..known) != Some(&self.acknowledged[..]) {
            let same = self.acknowledged.iter().zip(&found);
            let same = same.take_while(|(a, b)| a == b).count();
            return Err(format!(
                "acknowledged were {known}, of which there are {same}"
            ));
        }
        let mut expected = known;
        for group in self.unanswered.drain(..) {
            if found.len() == expected {
                break;
            }
            let end = expected + group.len();
            if found.get(expected..end) != Some(&group[..]) {
                return Err(format!(
                    "there are {} records, and a group ends at {end}",
                    found.len()
                ));
            }
            expected = end;
        }
        if found.len() != expected {
            return Err(format!(
                "{expected} records were written, and {} are there",
                found.len()
            ));
        }
        if found.is_empty() {
            self.id = Some(id);
        } else if self.id.replace(id) != Some(id) {
            return Err("it is another log".to_owned());
        }
        self.acknowledged = found;
        Ok(())
    }

    /// Records up to here are durable.
    fn acknowledge(&mut self, position: Position) {
        while let Some(group) = self.unanswered.first() {
            if group.last().is_some_and(|r| r.position > position) {
                break;
            }
            self.acknowledged.extend(self.unanswered.remove(0));
        }
    }
}

/// Runs a log through several lives of its machine; returns the first violation.
fn lives(seed: u64, syncs: bool) -> Result<(), String> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut machine = Machine::new(Disk::default());
    machine.syncs = syncs;
    machine.checkpoint_pages = rng.i32(5..60);
    machine.few = rng.usize(..6);
    let mut known = Known::default();
    for _ in 0..rng.usize(1..5) {
        let last = 10_u64.pow(rng.u32(1..3)) * 2;
        machine.disk().cut_in(rng.u64(1..last));
        life(&machine, &mut known, &mut rng)?;
        match rng.u8(..4) {
            0 => machine.disk().restart(),
            _ => machine.disk().power_on(&mut rng),
        }
    }
    let (log, found) = machine.open().map_err(|e| format!("{e:?}"))?;
    known.check(log.id(), found)
}

fn life(machine: &Machine, known: &mut Known, rng: &mut fastrand::Rng) -> Result<(), String> {
    let (mut log, found) = match machine.open() {
        Ok(opened) => opened,
        Err(_) if machine.disk().is_off() => return Ok(()),
        Err(error) => return Err(format!("{error:?}")),
    };
    known.check(log.id(), found)?;
    for _ in 0..rng.usize(..15) {
        let groups = if rng.u8(..4) == 0 { rng.usize(2..6) } else { 1 };
        if groups > 1 {
            machine.disk().hold();
        }
        for group in 0..groups {
            let texts: Vec<String> = (0..rng.usize(1..5)).map(|_| text(rng)).collect();
            known.unanswered.push(append(&mut log, texts));
            log.commit();
            // The first group is written alone, the others together.
            if groups > 1 && group == 0 {
                machine.disk().wait_held();
            }
        }
        machine.disk().release();
        let last = Position(log.next_position().0 - 1);
        let said = wait(&log, |c| c.position().is_none_or(|p| p >= last));
        match said.position() {
            Some(position) => known.acknowledge(position),
            None if machine.disk().is_off() => return Ok(()),
            None => return Err(format!("{said:?}")),
        }
    }
    Ok(())
}

fn text(rng: &mut fastrand::Rng) -> String {
    let most = if rng.u8(..8) == 0 { 20_000 } else { 300 };
    noise(rng.usize(..most), rng)
}

/// spec: HUB-8; design part 6, promise 1.
#[test]
fn a_power_cut_takes_nothing_that_was_acknowledged() {
    let check = |first| {
        for seed in (first..SEEDS).step_by(THREADS) {
            if let Err(wrong) = lives(seed, true) {
                panic!("seed {seed}: {wrong}");
            }
        }
    };
    std::thread::scope(|scope| {
        for first in 0..THREADS as u64 {
            scope.spawn(move || check(first));
        }
    });
}

/// Proves that the check can fail.
#[test]
fn without_syncs_the_same_check_finds_loss() {
    let wrong: Vec<String> = (0..100)
        .filter_map(|seed| lives(seed, false).err())
        .collect();
    let lost = wrong
        .iter()
        .filter(|w| w.starts_with("acknowledged were"))
        .count();
    assert!(lost > 0, "{wrong:?}");
}

/// promise 1
#[test]
fn acknowledged_records_need_no_sync_of_sqlite() {
    for seed in 0..20 {
        let mut machine = Machine::new(Disk::default());
        machine.checkpoint_pages = i32::MAX;
        let (mut log, _) = machine.open().expect("it opens");
        let mut records = vec![publish(&mut log, "before").expect("the disk is fine")];
        drop(log);
        machine.sqlite_syncs = false;
        let (mut log, _) = machine.open().expect("it opens again");
        records.push(publish(&mut log, "after").expect("the disk is fine"));
        machine.disk().cut_in(1);
        drop(log);
        let mut rng = fastrand::Rng::with_seed(seed);
        machine.disk().power_on(&mut rng);
        let opened = machine.open().map(|(_log, found)| found);
        assert_eq!(opened.expect("it opens once more"), records, "seed {seed}");
    }
}
