//! Limit of files that this process may have open. Every connection is one.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Allows as many as the system lets this process have: many shells begin with 1,024, and a hub has a connection for each agent.
pub(crate) fn allow_most() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_as_high_as_the_system_lets_it_be() {
        let mut limit = getrlimit(Resource::Nofile);
        let most = limit.maximum;
        limit.current = most.map(|most| most - 1);
        setrlimit(Resource::Nofile, limit).expect("it is lowered by one");
        allow_most();
        assert_eq!(getrlimit(Resource::Nofile).current, most);
    }
}
