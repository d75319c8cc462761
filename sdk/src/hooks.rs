//! An author's code around questions to the model and calls of tools.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use agenthub_runs::{
    RunId, StepContext, ToolOutput,
    model::{Completion, Request, ToolCall},
};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::timeout;

use crate::{Failure, TaskContext, model};

/// Code around the questions to an agent's model and the calls of its tools: it observes, and may refuse a call. Give it to
/// [`AgentBuilder::hooks`](crate::AgentBuilder::hooks); every method does nothing unless written.
///
/// ```
/// use agenthub_sdk::{Failure, HookContext, Hooks, model::ToolCall};
///
/// struct OfficeHours;
///
/// impl Hooks for OfficeHours {
///     async fn before_tool(&self, _: &HookContext, call: &ToolCall) -> Result<(), Failure> {
///         match call.name.as_str() {
///             "send_mail" => Err(Failure::rejected("mail is sent from 9 to 17")),
///             _ => Ok(()),
///         }
///     }
/// }
/// ```
///
/// A supervisor's agents are tools here too: the call has the name that its model used.
///
/// **Bounds.** Each hook has [`HOOK_DEADLINE`]. One that takes longer or panics is given up and logged, and the run goes on, but for
/// [`before_tool`](Self::before_tool): a call that nobody could decide about is refused.
///
/// **Durability.** A hook is called where its step runs. A step that is in the journal with its result does not run again when another process
/// takes the run up, and its hooks are not called again. A step that was out when the process died runs again under the same
/// [key](HookContext::idempotency_key), and so do its hooks. A refusal is the step's result: it is journaled like any other.
pub trait Hooks: Send + Sync + 'static {
    /// Before each attempt to ask the model.
    fn before_model(
        &self,
        _context: &HookContext,
        _request: &Request,
    ) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// After each attempt to ask the model, with its answer or why there is none.
    fn after_model(
        &self,
        _context: &HookContext,
        _answer: Result<&Completion, &model::ModelError>,
    ) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Before each call of a tool.
    ///
    /// # Errors
    ///
    /// The tool is not called, and the model is told why.
    fn before_tool(
        &self,
        _context: &HookContext,
        _call: &ToolCall,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        async { Ok(()) }
    }

    /// After each call of a tool that was not refused.
    fn after_tool(
        &self,
        _context: &HookContext,
        _call: &ToolCall,
        _output: &ToolOutput,
    ) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// The time for one hook: 5 s.
pub const HOOK_DEADLINE: Duration = Duration::from_secs(5);

/// The step that a hook is called for.
#[derive(Clone, Debug)]
pub struct HookContext {
    step: StepContext,
    task: TaskContext,
}

impl HookContext {
    pub(crate) fn new(step: &StepContext, task: &TaskContext) -> Self {
        Self {
            step: step.clone(),
            task: task.clone(),
        }
    }

    /// The task that the agent works on.
    pub fn task(&self) -> &TaskContext {
        &self.task
    }

    /// The run that the step belongs to.
    pub fn run_id(&self) -> &RunId {
        &self.step.key.run
    }

    /// Attempt at the step, from 1.
    pub fn attempt(&self) -> u32 {
        self.step.key.attempt
    }

    /// The same whenever this attempt is made, in whatever process, and only then; for a tool it is
    /// [the one that the tool sees](crate::ToolContext::idempotency_key).
    pub fn idempotency_key(&self) -> String {
        self.step.key.message_id().to_string()
    }
}

/// The hooks of an agent, in the order in which they are called. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct HookChain(Vec<Arc<dyn Hook>>);

impl HookChain {
    pub(crate) fn push(&mut self, hooks: impl Hooks) {
        self.0.push(Arc::new(hooks));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) async fn before_model(&self, context: &HookContext, request: &Request) {
        for hook in &self.0 {
            contained("before_model", hook.before_model(context, request)).await;
        }
    }

    pub(crate) async fn after_model(
        &self,
        context: &HookContext,
        answer: Result<&Completion, &model::ModelError>,
    ) {
        for hook in &self.0 {
            contained("after_model", hook.after_model(context, answer)).await;
        }
    }

    /// # Errors
    ///
    /// The reason that the model is told of a refusal. The first refusal counts.
    pub(crate) async fn before_tool(
        &self,
        context: &HookContext,
        call: &ToolCall,
    ) -> Result<(), String> {
        for hook in &self.0 {
            match contained("before_tool", hook.before_tool(context, call)).await {
                Some(Ok(())) => {}
                Some(Err(failure)) => return Err(format!("refused: {}", failure.text)),
                None => {
                    let why = "refused: it could not be decided whether this may be called; the log of its agent says more";
                    return Err(why.to_owned());
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn after_tool(
        &self,
        context: &HookContext,
        call: &ToolCall,
        output: &ToolOutput,
    ) {
        for hook in &self.0 {
            contained("after_tool", hook.after_tool(context, call, output)).await;
        }
    }
}

impl fmt::Debug for HookChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HookChain").field(&self.0.len()).finish()
    }
}

/// The result of a hook; nothing if it panics or takes too long.
async fn contained<T>(name: &str, hook: BoxFuture<'_, T>) -> Option<T> {
    match timeout(HOOK_DEADLINE, AssertUnwindSafe(hook).catch_unwind()).await {
        Ok(Ok(given)) => Some(given),
        Ok(Err(_)) => {
            tracing::error!(hook = name, "a hook panicked");
            None
        }
        Err(_) => {
            tracing::warn!(hook = name, "a hook was given up after {HOOK_DEADLINE:?}");
            None
        }
    }
}

/// [`Hooks`] of any type. Nothing of them runs before the future is polled.
trait Hook: Send + Sync {
    fn before_model<'a>(&'a self, _: &'a HookContext, _: &'a Request) -> BoxFuture<'a, ()>;

    fn after_model<'a>(
        &'a self,
        _: &'a HookContext,
        _: Result<&'a Completion, &'a model::ModelError>,
    ) -> BoxFuture<'a, ()>;

    fn before_tool<'a>(
        &'a self,
        _: &'a HookContext,
        _: &'a ToolCall,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    fn after_tool<'a>(
        &'a self,
        _: &'a HookContext,
        _: &'a ToolCall,
        _: &'a ToolOutput,
    ) -> BoxFuture<'a, ()>;
}

impl<H: Hooks> Hook for H {
    fn before_model<'a>(
        &'a self,
        context: &'a HookContext,
        request: &'a Request,
    ) -> BoxFuture<'a, ()> {
        async move { Hooks::before_model(self, context, request).await }.boxed()
    }

    fn after_model<'a>(
        &'a self,
        context: &'a HookContext,
        answer: Result<&'a Completion, &'a model::ModelError>,
    ) -> BoxFuture<'a, ()> {
        async move { Hooks::after_model(self, context, answer).await }.boxed()
    }

    fn before_tool<'a>(
        &'a self,
        context: &'a HookContext,
        call: &'a ToolCall,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        async move { Hooks::before_tool(self, context, call).await }.boxed()
    }

    fn after_tool<'a>(
        &'a self,
        context: &'a HookContext,
        call: &'a ToolCall,
        output: &'a ToolOutput,
    ) -> BoxFuture<'a, ()> {
        async move { Hooks::after_tool(self, context, call, output).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hook_that_panics_or_never_returns_is_given_up() {
        let panicking = async { panic!("a hook of a test") };
        assert_eq!(contained::<()>("h", panicking.boxed()).await, None);
        let began = Instant::now();
        let stuck = std::future::pending::<()>().boxed();
        assert_eq!(contained("h", stuck).await, None);
        assert_eq!(began.elapsed(), HOOK_DEADLINE);
        assert_eq!(contained("h", async { 1 }.boxed()).await, Some(1));
    }
}
