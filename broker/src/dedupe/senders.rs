//! Senders by number, with the count of their publishes.

use crate::{id::AgentId, table::Table};

#[derive(Debug, Default)]
pub(super) struct Senders {
    numbers: Table<AgentId, u32>,
    all: Vec<Sender>,
    /// Numbers that can be reused.
    free: Vec<u32>,
    /// The sender of the last lookup: most publishes have the same sender as the previous one.
    last: u32,
}

#[derive(Debug)]
struct Sender {
    name: AgentId,
    publishes: usize,
}

impl Senders {
    /// Number of remembered publishes of a sender.
    pub(super) fn count(&self, name: &AgentId) -> usize {
        let number = self.find(name);
        number.map_or(0, |number| self.all[number as usize].publishes)
    }

    pub(super) fn name(&self, number: u32) -> &AgentId {
        &self.all[number as usize].name
    }

    /// Counts a publish. Returns the number of its sender.
    pub(super) fn add(&mut self, name: &AgentId) -> u32 {
        let number = self.find(name).unwrap_or_else(|| self.begin(name));
        self.all[number as usize].publishes += 1;
        self.last = number;
        number
    }

    /// Uncounts a dropped publish.
    pub(super) fn remove(&mut self, number: u32) {
        let sender = &mut self.all[number as usize];
        sender.publishes -= 1;
        if sender.publishes == 0 {
            self.numbers.remove(&sender.name);
            self.free.push(number);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    fn find(&self, name: &AgentId) -> Option<u32> {
        let is_it = |last: &Sender| last.publishes > 0 && last.name == *name;
        match self.all.get(self.last as usize) {
            Some(last) if is_it(last) => Some(self.last),
            _ => self.numbers.get(name).copied(),
        }
    }

    fn begin(&mut self, name: &AgentId) -> u32 {
        let sender = Sender {
            name: name.clone(),
            publishes: 0,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = sender;
                number
            }
            None => {
                self.all.push(sender);
                u32::try_from(self.all.len() - 1).expect("each has a publish in memory")
            }
        };
        self.numbers.insert(name.clone(), number);
        number
    }
}
