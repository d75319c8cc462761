//! Tests of the hub over real sockets.

mod harness;
mod peer;

mod access;
mod behalf;
mod bodies;
mod bounds;
mod cards;
mod connect;
mod connect_ends;
mod copies;
mod crashes;
mod crowded;
mod errors;
mod hazards;
mod hostile;
mod instances;
mod leases;
mod mailboxes;
mod older_clients;
mod operations;
mod orphans;
mod presence;
mod rereading;
mod sizes;
mod streams;
mod tasks;
mod tasks_ending;
mod tls;
mod upkeep;
mod watching;
