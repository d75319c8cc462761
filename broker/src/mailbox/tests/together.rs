//! Events that arrived together are delivered as if one by one, whatever happens meanwhile.

use super::*;
use crate::segment::Segment;

const INSTANCES: [&str; 2] = ["i", "j"];

#[derive(Clone, Debug)]
enum Act {
    /// Several alike events.
    Together(u8, u8, Priority),
    /// An event that may be lost.
    Lossy(u8, Priority),
    /// One event, optionally delayed, or with a shorter expiry.
    Alone(u8, Priority, Option<u8>, bool),
    Take(usize, usize),
    Acknowledge(usize, Vec<prop::sample::Index>),
    Refuse(usize, prop::sample::Index, u8),
    Extend(usize, prop::sample::Index),
    Reclaim(usize, Vec<prop::sample::Index>),
    Release(usize),
    Wait(u8),
    Order(bool),
    Tell,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let priority = || prop_oneof![9 => Just(Priority::Medium), 1 => Just(Priority::High)];
    let instance = || prop_oneof![4 => Just(0), 1 => Just(1_usize)];
    let index = any::<prop::sample::Index>;
    let some = move || prop::collection::vec(index(), 0..5);
    let act = prop_oneof![
        8 => (1..6u8, 0..2u8, priority()).prop_map(|(n, order, p)| Act::Together(n, order, p)),
        1 => (0..2u8, priority()).prop_map(|(order, p)| Act::Lossy(order, p)),
        1 => (0..2u8, priority(), prop::option::of(1..9u8), any::<bool>())
            .prop_map(|(order, p, due, is_short)| Act::Alone(order, p, due, is_short)),
        8 => (instance(), 1..7_usize).prop_map(|(i, n)| Act::Take(i, n)),
        8 => (instance(), some()).prop_map(|(i, of)| Act::Acknowledge(i, of)),
        1 => (instance(), index(), 0..9u8).prop_map(|(i, of, s)| Act::Refuse(i, of, s)),
        1 => (instance(), index()).prop_map(|(i, of)| Act::Extend(i, of)),
        1 => (instance(), some()).prop_map(|(i, of)| Act::Reclaim(i, of)),
        1 => instance().prop_map(Act::Release),
        2 => (0..20u8).prop_map(Act::Wait),
        1 => any::<bool>().prop_map(Act::Order),
        1 => Just(Act::Tell),
    ];
    prop::collection::vec(act, 0..80)
}

/// Ids of events, with the number of attempts if known.
type Seen = Vec<(String, u32)>;

impl Box {
    /// Pushes mail, in one batch or one by one.
    fn add(&mut self, mail: &[Mail], is_together: bool) {
        if !is_together {
            mail.iter().for_each(|m| self.mailbox.push(m, self.now));
            return;
        }
        let events = mail.iter().map(|m| Some((m.position?, m.event.clone())));
        let segment = match events.collect() {
            Some(events) => Segment::logged(events),
            None => Segment::of(mail[0].event.clone()),
        };
        self.mailbox
            .push_segment(&mail[0], &segment.into(), self.now);
    }

    fn take_all(&mut self, instance: &str, most: usize) -> Seen {
        let instance = instance.into();
        let mut got = Vec::new();
        while got.len() < most {
            let room = most - got.len();
            let Some(delivery) = self.mailbox.take(&instance, None, room, self.now) else {
                break;
            };
            let batch = delivery.batch;
            let events = batch.events();
            got.extend(events.map(|(e, _)| (e.event_id.clone(), batch.attempt())));
        }
        got
    }

    /// Performs the act on one of the first events. Returns the visible result.
    fn act(&mut self, act: &Act, is_together: bool) -> (Seen, Vec<Try>) {
        let pieces = usize::try_from(self.next).expect("few") + 1;
        let at = |of: &prop::sample::Index| Position(of.index(pieces) as u64);
        let gone = |undelivered: Vec<Undelivered>| {
            let seen = undelivered.into_iter();
            seen.map(|u| (u.mail.event.event_id.clone(), u.attempts))
                .collect()
        };
        let now = self.now;
        let mut tries = Vec::new();
        let mut seen: Seen = match act {
            Act::Together(count, order, priority) => {
                let mail = || self.mail(&order.to_string(), *priority);
                let mail: Vec<Mail> = std::iter::repeat_with(mail).take((*count).into()).collect();
                self.add(&mail, is_together);
                Seen::new()
            }
            Act::Lossy(order, priority) => {
                let mut mail = self.mail(&order.to_string(), *priority);
                mail.position = None;
                self.add(&[mail], is_together);
                Seen::new()
            }
            Act::Alone(order, priority, due, is_short) => {
                let mut mail = self.mail(&order.to_string(), *priority);
                let later = |seconds: u8| now + Duration::from_secs(seconds.into());
                mail.timing.due = due.map(later);
                if *is_short {
                    mail.timing.expires = later(30);
                }
                self.mailbox.push(&mail, now);
                Seen::new()
            }
            Act::Take(instance, most) => self.take_all(INSTANCES[*instance], *most),
            Act::Acknowledge(instance, of) => {
                let instance = INSTANCES[*instance].into();
                let of: Vec<Position> = of.iter().map(at).collect();
                let left = self.mailbox.acknowledge(&of, Some(&instance));
                left.iter().map(|at| (at.0.to_string(), 0)).collect()
            }
            Act::Refuse(instance, of, seconds) => {
                let instance = INSTANCES[*instance].into();
                let delay = Duration::from_secs((*seconds).into());
                let given_up = self.mailbox.refuse(at(of), &instance, delay, "no", now);
                gone(given_up)
            }
            Act::Extend(instance, of) => {
                self.mailbox
                    .extend(&[at(of)], &INSTANCES[*instance].into(), now);
                Seen::new()
            }
            Act::Reclaim(instance, of) => {
                let mut claimed = Reclaiming::new(of.iter().map(at).collect());
                let instance = INSTANCES[*instance].into();
                let Reclaimed {
                    handed_over,
                    given_up,
                } = self.mailbox.reclaim(&instance, &mut claimed, now);
                let handed_over = handed_over.into_iter();
                let mut seen: Seen = gone(given_up);
                seen.extend(handed_over.map(|h| (h.mail.event.event_id.clone(), 0)));
                seen
            }
            Act::Release(instance) => gone(self.mailbox.release(&INSTANCES[*instance].into(), now)),
            Act::Wait(seconds) => {
                self.now += Duration::from_secs((*seconds).into());
                gone(self.mailbox.tick(&mut Portion::new(), self.now))
            }
            Act::Order(is_ordered) => {
                self.mailbox.set_ordered(*is_ordered);
                Seen::new()
            }
            Act::Tell => {
                tries = self.mailbox.take_unlogged_attempts(usize::MAX);
                Seen::new()
            }
        };
        if matches!(act, Act::Reclaim(..)) {
            // Claims are a set.
            seen.sort();
        }
        (seen, tries)
    }

    /// The externally visible state.
    fn view(&self) -> impl PartialEq + std::fmt::Debug {
        let held = (0..=self.next).filter(|at| self.mailbox.holds(Position(*at)));
        // Passing events that may be lost are in no order with the rest.
        let mut waiting: Vec<String> = self
            .mailbox
            .waiting()
            .map(|m| m.event.event_id.clone())
            .collect();
        waiting.sort();
        (
            (self.mailbox.events(), self.mailbox.bytes()),
            (self.mailbox.leased(), self.mailbox.waits()),
            self.mailbox.next_tick(),
            self.mailbox.tries(),
            held.collect::<Vec<u64>>(),
            waiting,
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// promise 3
    #[test]
    fn what_came_together_is_as_if_each_had_come_by_itself(acts in acts()) {
        let (mut together, mut alone) = (Box::new(), Box::new());
        alone.now = together.now;
        alone.mailbox = Mailbox::new(BOUNDS, together.now);
        for act in &acts {
            prop_assert_eq!(together.act(act, true), alone.act(act, false), "{:?}", act);
            prop_assert_eq!(together.view(), alone.view(), "{:?}", act);
            let lost = |b: &mut Box| {
                let lost = b.mailbox.surplus().into_iter();
                lost.map(|u| u.mail.event.event_id.clone()).collect::<Vec<_>>()
            };
            prop_assert_eq!(lost(&mut together), lost(&mut alone));
        }
        let saved = |b: &Box| {
            let mail = b.mailbox.mail().into_iter().filter(|m| m.position.is_some());
            mail.map(|m| m.position).collect::<Vec<_>>()
        };
        prop_assert_eq!(saved(&together), saved(&alone));
    }
}
