//! The progress of a long operation, for the waiting client.

/// The progress of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of done steps.
    pub n_done: usize,
    /// The total number, if known.
    pub n_total: Option<usize>,
    /// The current step, in a few words.
    pub doing: &'static str,
}

impl Progress {
    /// Whether it is the last report.
    pub fn is_last(&self) -> bool {
        self.n_total.is_some_and(|n_total| self.n_done >= n_total)
    }
}

/// Receives every step, on the working thread: it must be fast, and select what to forward. An operation that
/// runs again because another transaction was faster counts from the beginning again.
pub type OnProgress = Box<dyn Fn(Progress) + Send>;

/// Counts the steps of one run, if anybody listens.
#[derive(Clone, Copy, Default)]
pub struct Steps<'a> {
    listener: Option<&'a (dyn Fn(Progress) + Send)>,
    progress: Progress,
}

impl<'a> Steps<'a> {
    /// Steps with a listener.
    pub fn told(listener: Option<&'a OnProgress>) -> Steps<'a> {
        Steps { listener: listener.map(|listener| &**listener), progress: Progress::default() }
    }

    /// Names the current step, and the total number of steps, including those done.
    pub fn begin(&mut self, doing: &'static str, n_total: Option<usize>) {
        self.progress = Progress { doing, n_total, ..self.progress };
    }

    /// One more step is done.
    pub fn advance(&mut self) {
        self.reach(self.progress.n_done + 1);
    }

    /// Does the last step, after which the total is known.
    pub fn end(&mut self, doing: &'static str) {
        self.begin(doing, Some(self.progress.n_done + 1));
        self.advance();
    }

    /// Sets the number of done steps, unless it was higher: skipped steps count as done.
    pub fn reach(&mut self, n_done: usize) {
        if n_done > self.progress.n_done {
            self.progress.n_done = n_done;
            if let Some(listener) = self.listener {
                listener(self.progress);
            }
        }
    }
}
