//! How far a long operation has come, for whoever waits for it.

/// How far an operation has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many steps are done.
    pub n_done: usize,
    /// How many there are, where that is known.
    pub n_total: Option<usize>,
    /// What is being done, in a few words.
    pub doing: &'static str,
}

impl Progress {
    /// Whether nothing is left to be told after it.
    pub fn is_last(&self) -> bool {
        self.n_total.is_some_and(|n_total| self.n_done >= n_total)
    }
}

/// Is told of every step, on the thread that does it: it must be quick, and choose what is worth passing on. An operation that
/// runs again, because another transaction was faster, counts from the beginning again.
pub type OnProgress = Box<dyn Fn(Progress) + Send>;

/// Counts the steps of one run. Where nobody listens, nothing else happens.
#[derive(Clone, Copy, Default)]
pub struct Steps<'a> {
    listener: Option<&'a (dyn Fn(Progress) + Send)>,
    progress: Progress,
}

impl<'a> Steps<'a> {
    /// Steps that a listener is told of.
    pub fn told(listener: Option<&'a OnProgress>) -> Steps<'a> {
        Steps { listener: listener.map(|listener| &**listener), progress: Progress::default() }
    }

    /// Says what is done from now on, and how many steps there will be, with those that were.
    pub fn begin(&mut self, doing: &'static str, n_total: Option<usize>) {
        self.progress = Progress { doing, n_total, ..self.progress };
    }

    /// One more step is done.
    pub fn advance(&mut self) {
        self.reach(self.progress.n_done + 1);
    }

    /// Does the last step, after which it is known how many there were.
    pub fn end(&mut self, doing: &'static str) {
        self.begin(doing, Some(self.progress.n_done + 1));
        self.advance();
    }

    /// So many steps are done, unless it were more already: what was left out counts as done.
    pub fn reach(&mut self, n_done: usize) {
        if n_done > self.progress.n_done {
            self.progress.n_done = n_done;
            if let Some(listener) = self.listener {
                listener(self.progress);
            }
        }
    }
}
