//! Receivers that fail, do not answer, or may not be posted to.

use super::*;

#[tokio::test]
async fn a_receiver_that_fails_gets_it_again_and_the_rest_after_it() {
    let stage = stage().await;
    let busy = [500, 503, 429].map(Answer::Status);
    let mut receiver = Receiver::start(busy).await;
    let sent = with_config("hello", hook(&receiver));
    stage.done("SendMessage", sent).await;
    let posted = receiver.until(COMPLETED).await;
    assert_eq!(shown(&posted), [SUBMITTED, WORKING, COMPLETED]);
    let (first, rest) = posted.split_at(4);
    assert!(first.iter().all(|one| *one == first[0]), "the same one");
    let of_rest: HashSet<_> = rest.iter().map(|(id, _)| id).collect();
    assert_eq!(of_rest.len(), rest.len(), "each of the others once");
    assert!(receiver.is_left_alone().await, "once it was taken");
    stage.stop().await;
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_keeps_nobody_waiting() {
    let stage = stage().await;
    let hang = std::iter::repeat_with(|| Answer::Hang).take(100);
    let mut slow = Receiver::start(hang).await;
    for n in 0..20 {
        let mut config = hook(&slow);
        config["id"] = n.to_string().into();
        stage
            .done("SendMessage", with_config(&format!("hello {n}"), config))
            .await;
    }
    slow.next().await;
    let mut quick = Receiver::start([]).await;
    stage
        .done("SendMessage", with_config("hello", hook(&quick)))
        .await;
    quick.until(COMPLETED).await;
    slow.let_go();
    let mut ended = 0;
    while ended < 20 {
        ended += usize::from(slow.next().await.shows() == COMPLETED);
    }
    stage.stop().await;
}

#[tokio::test]
async fn redirects_are_not_followed_and_who_is_gone_is_left_alone() {
    let stage = stage().await;
    for answer in [Answer::Redirect("/elsewhere"), Answer::Status(410)] {
        let mut receiver = Receiver::start([answer]).await;
        let sent = with_config("wait", hook(&receiver));
        let task = stage.done("SendMessage", sent).await["task"].take();
        receiver.next().await;
        let gone = json!({"taskId": task["id"], "id": "c"});
        crate::harness::soon(async {
            while stage
                .rpc("GetTaskPushNotificationConfig", gone.clone())
                .await["error"]["code"]
                != -32001
            {
                tokio::task::yield_now().await;
            }
        })
        .await;
        stage.done("CancelTask", json!({"id": task["id"]})).await;
        assert!(receiver.is_left_alone().await);
    }
    stage.stop().await;
}

/// spec: A2A 1.0.1 §13.2
#[tokio::test]
async fn receivers_on_this_machine_are_refused_unless_a_setting_allows_them() {
    let stage = Stage::start().await;
    let receiver = Receiver::start([]).await;
    let refused = stage
        .rpc("SendMessage", with_config("hello", hook(&receiver)))
        .await;
    assert_eq!(refused["error"]["code"], -32602);
    let fault = &refused["error"]["data"][0]["fieldViolations"][0];
    assert_eq!(
        fault["field"],
        "configuration.taskPushNotificationConfig.url"
    );
    let task = waiting(&stage).await;
    for url in [
        "http://169.254.169.254/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "gopher://a.example/",
        "",
    ] {
        let config = json!({"taskId": task["id"], "url": url});
        assert_eq!(
            stage.code("CreateTaskPushNotificationConfig", config).await,
            -32602,
            "{url}"
        );
    }
    stage.stop().await;
}
