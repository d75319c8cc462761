//! Description of the method for the report.

use std::time::Duration;

use super::{measure::WARM_UP, rows, tasks::TEXT_BYTES, wire::event_bytes};

/// Paragraphs of the description.
pub(super) fn described(rounds: u32, length: Duration) -> Vec<String> {
    let [short, long] = [256, 4096].map(event_bytes);
    let (warm_up, length) = (WARM_UP.min(length).as_secs_f64(), length.as_secs_f64());
    vec![
        format!(
            "Each figure comes from a fresh server, a process of its own, and from its clients, all in one other process, over loopback on the same \
             cores. There is one publisher, and every subscriber has a connection of its own. All systems carry the same bytes: an event whose text \
             has 256 B takes {short} B, one with 4 KiB {long} B. What is counted begins after {warm_up} s, for {length} s. In each of {rounds} \
             rounds everything is measured in turn, the hub right after what it is held against; what takes long (stuck subscribers, many agents) is \
             measured in the first rounds alone."
        ),
        format!(
            "Goals hold for the clients that users have: tonic as the SDK has it, with its windows and frames, whose messages the SDK's own code reads and \
             writes, and async-nats with wide buffers and without any flush by hand; both take each message's bytes and decode nothing, and use the allocator of `agenthub`, jemalloc. Redis and \
             the floor, a program that writes what it reads from one TCP connection to all others, are spoken with over TCP by a client that only \
             finds where a message ends. At full speed the publisher keeps {} to {} messages on the way to each subscriber (fewer with 4 KiB and \
             with 1,000 subscribers), so that nothing is dropped; what is kept is published with 256 unacknowledged. Latency is measured at a \
             steady rate, from a stamp made when a thread that keeps the time ticks; the disk's syncs, which it is held against, come at the same \
             rate, or as near to that as they can.",
            rows::FEWEST, rows::WINDOW
        ),
        "The hub in memory keeps nothing on disk. Synced, it answers a publish and delivers it once it is on the disk, and subscribers \
         acknowledge each delivery. JetStream has a stream in its file store, which syncs every two minutes, and ordered push consumers, \
         which acknowledge nothing. Redis keeps nothing on disk."
            .to_owned(),
        "A namespace beside another one publishes 200 messages a second to itself, synced. Its neighbour asks for twice what its quotas allow (400 publishes a \
         second, 20 streams, 100 open tasks). Both are measured four times in turn on one hub, with the neighbour and without."
            .to_owned(),
        "The Go client is grpc-go, which decodes each event. A stuck subscriber answers pings and reads nothing of its stream; with one of them, \
         the latency of 999 others is taken at 20 publishes a second, and 1,000 of them are sent 200 a second until the hub has cut them off. \
         The 10,000 agents have a connection, a card and a subscription each. `agenthub up` begins in an empty folder, and is the `dist` build where \
         there is one."
            .to_owned(),
        format!(
            "Tasks are measured with the SDK on both sides: a client delegates a request of {TEXT_BYTES} B to an agent, which answers at once with \
             {TEXT_BYTES} B, and waits for the outcome; as soon as it has that, it delegates the next one, with so many in flight at a time. A task's \
             latency runs from its delegation to its outcome. In a chain of three, the first two agents delegate what they are asked to the next one. \
             NATS core does the same by request and reply, of which nothing is kept. With JetStream the request is published into a stream and \
             acknowledged, the worker has it from a durable consumer, its answer is published into another stream and acknowledged, and it \
             acknowledges the request. Restate has a service in JavaScript that is asked over HTTP; its server stores what is asked and answered, \
             and it is its server's CPU time that counts. Two syncs of the disk are twice the median of syncs of one page. What ended tasks leave \
             is measured between the 4,000th and the 19,000th of a fresh synced hub: the growth of its process in memory, and that of a backup of its \
             log. It goes on until a million have ended, with tasks/s counted before and after, and memory once more at the end, divided by all of \
             them."
        ),
        "A2A is measured with an agent of the SDK that answers at once, behind the hub, and an equal one that a minimal server of axum and tonic \
         serves directly, without a hub, a store or a check. What the hub adds to a call is the difference of both, each from 400 calls at 100 a \
         second over connections that are open. At full speed 64 calls are in flight, each of which waits for its task to end. 1,000 streams are 1,000 \
         tasks, each followed over a connection of its own from its beginning to its end; all their agents are let go at one moment."
            .to_owned(),
        "Workflows are measured on `agenthub up` with its log and its journal synced, as agents (`--workflows`) that a client delegates to. Each step asks \
         an agent of the SDK that answers at once. A step's time is that of a run of 20 steps, from its delegation to its outcome, divided by 20. In \
         Restate a handler in JavaScript calls another one three times, each call stored."
            .to_owned(),
        "Steps over Kafka go over a real one of one node on the same machine (`--kafka`), with claim checks in a folder, synced, and one bridge as it is by \
         default, with 100 tasks at work. The agent over HTTP and the reader of results are in the process of the clients. From a response to its \
         published result is the time from the moment before the agent's answer is written to its connection to that at which the reader has the \
         result from Kafka: what is meant, and more. One at a time are 400 calls; for 100 answers at once the agent holds its answers until it has 100 \
         requests, 20 times. Short calls/s are of 20,000 calls, 400 of which have no result at a time; the CPU time is the bridge's. A step's time is that of a \
         run of 20 steps on `agenthub up`, divided by 20, and has the agent's in it."
            .to_owned(),
        "The server's CPU time is the time on a CPU of all its threads (`/proc/PID/task/*/schedstat`). A measurement during which others used more \
         than 60 % of the machine is repeated once, and the quieter one counts."
            .to_owned(),
    ]
}
