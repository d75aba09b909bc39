//! Failed authentications: guessing is slowed down, and the right people are not kept out.
//!
//! Tokens and passwords are counted apart, because they fail for different reasons. Nobody guesses a token of 256 bits: wrong
//! ones come from scripts with an old configuration. So a right token is always accepted, and wrong ones only make the answer
//! to further wrong ones shorter. They say nothing about passwords. Codes of sign-in links are as long, and counted with them.
//!
//! Passwords can be guessed, and each try costs a slow hash. Three counters slow guessing down:
//!
//! * **An account from an address** has `failures` tries a minute, one after the other. Whoever mistypes affects only
//!   themselves: others behind the same address, as in an office, log in as before.
//! * **An address** has ten times as many over all accounts, which stops a list of names from being tried with one password.
//! * **An account** from everywhere has `failures` tries, and then one at a time after a pause that doubles up to a minute.
//!   Thousands of addresses together then try 1,440 passwords a day.
//!
//! The last two could be used to keep an owner out, so they do not hold where an account has logged in before: only failures
//! at this account from this very address count there. An owner at a new place, while somebody guesses, waits for at most a
//! minute between tries; and tokens and open sessions work all the time. A success ends the pause of the account.
//!
//! Names that do not exist are counted like others, so that the limits do not tell which do.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::{Quota, RateLimiter};
use ops::Result;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::address::counted;
use super::limits::{KEYS_MAX, Keyed, limited};

/// An address has so many times the tries of one account.
const ACCOUNTS_PER_ADDRESS: u32 = 10;
/// The longest pause between two tries at an account.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// An account at which nobody has failed for this long begins anew.
const FORGIVEN_AFTER: Duration = Duration::from_secs(3600);
/// Where somebody has logged in is remembered for this long.
const KNOWN_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// The name that somebody logs in with, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Account(u64);

/// Counts failed authentications.
pub struct Guesses {
    /// None is no limit.
    limit: Option<Counters>,
    state: Mutex<State>,
    names: RandomState,
    clock: DefaultClock,
}

struct Counters {
    n_free: u32,
    tokens: Keyed<IpAddr>,
    pairs: Keyed<(IpAddr, Account)>,
    addresses: Keyed<IpAddr>,
}

#[derive(Default)]
struct State {
    blocked: HashMap<Blocked, Instant>,
    accounts: HashMap<Account, Failures>,
    known: HashMap<(IpAddr, Account), Instant>,
    trying: HashMap<(IpAddr, Account), Arc<AsyncMutex<()>>>,
}

/// Who may not try for a while.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Blocked {
    Pair(IpAddr, Account),
    Address(IpAddr),
    Account(Account),
}

/// Failures at an account, from wherever it has not logged in before.
struct Failures {
    n: u32,
    /// Tries under way, which may become failures.
    n_trying: u32,
    last: Instant,
}

impl Guesses {
    /// Nobody has failed yet. Zero failures a minute mean no limit.
    pub fn new(failures: u32) -> Guesses {
        let limit = NonZeroU32::new(failures).map(|number| {
            let of_address = number.saturating_mul(ACCOUNTS_PER_ADDRESS.try_into().expect("not zero"));
            Counters {
                n_free: failures,
                tokens: RateLimiter::dashmap(Quota::per_minute(number)),
                pairs: RateLimiter::dashmap(Quota::per_minute(number)),
                addresses: RateLimiter::dashmap(Quota::per_minute(of_address)),
            }
        });
        Guesses { limit, state: Mutex::default(), names: RandomState::new(), clock: DefaultClock::default() }
    }

    /// The account that a name stands for.
    pub fn account(&self, name: &str) -> Account {
        Account(self.names.hash_one(words::name::fold(name)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a wrong token; an error when the address has shown too many.
    pub fn note_token(&self, address: Option<IpAddr>) -> Result<()> {
        let (Some(counters), Some(address)) = (&self.limit, address) else { return Ok(()) };
        if counters.tokens.len() > KEYS_MAX {
            counters.tokens.retain_recent();
        }
        counters.tokens.check_key(&counted(address)).map_err(|refusal| {
            too_many("with tokens or links from this address", refusal.wait_time_from(self.clock.now()))
        })
    }

    /// Begins to try a password, unless there were too many failures. What is returned is kept until the outcome was noted.
    pub async fn begin(self: &Arc<Self>, address: Option<IpAddr>, account: Account) -> Result<Attempt> {
        let (Some(counters), Some(address)) = (&self.limit, address.map(counted)) else {
            return Ok(Attempt::default());
        };
        self.check(address, account)?;
        let turn = {
            let mut state = self.state();
            state.trying.retain(|_, turn| Arc::strong_count(turn) > 1);
            state.trying.entry((address, account)).or_default().clone()
        };
        // Otherwise many passwords could be tried before the first has failed.
        let turn = turn.lock_owned().await;
        self.check(address, account)?;
        let mut state = self.state();
        if state.is_known(address, account) {
            return Ok(Attempt { _turn: Some(turn), counted: None });
        }
        let failures = state.failures(account);
        if failures.n_trying > 0 && failures.n + failures.n_trying >= counters.n_free {
            return Err(too_many("at this account", Duration::ZERO));
        }
        failures.n_trying += 1;
        Ok(Attempt { _turn: Some(turn), counted: Some((self.clone(), account)) })
    }

    fn check(&self, address: IpAddr, account: Account) -> Result<()> {
        let state = self.state();
        let wait = |key| state.blocked.get(&key)?.checked_duration_since(Instant::now());
        if let Some(wait) = wait(Blocked::Pair(address, account)) {
            return Err(too_many("at this account from this address", wait));
        }
        if state.is_known(address, account) {
            return Ok(());
        }
        if let Some(wait) = wait(Blocked::Address(address)) {
            return Err(too_many("from this address", wait));
        }
        match wait(Blocked::Account(account)) {
            Some(wait) => Err(too_many("at this account", wait)),
            None => Ok(()),
        }
    }

    /// Counts a wrong password; an error when it was one too many.
    pub fn note_password(&self, address: Option<IpAddr>, account: Account) -> Result<()> {
        let (Some(counters), Some(address)) = (&self.limit, address.map(counted)) else { return Ok(()) };
        if counters.pairs.len() > KEYS_MAX {
            counters.pairs.retain_recent();
            counters.addresses.retain_recent();
        }
        let mut state = self.state();
        let now = Instant::now();
        state.blocked.retain(|_, until| *until > now);
        let wait = |refusal: governor::NotUntil<_>| refusal.wait_time_from(self.clock.now());
        if !state.is_known(address, account) {
            let failures = state.failures(account);
            failures.n = failures.n.saturating_add(1);
            failures.last = now;
            if let Some(n_more) = failures.n.checked_sub(counters.n_free + 1) {
                let pause = Duration::from_secs(1 << n_more.min(6)).min(PAUSE_MAX);
                state.blocked.insert(Blocked::Account(account), now + pause);
            }
            if let Err(refusal) = counters.addresses.check_key(&address) {
                let wait = wait(refusal);
                state.blocked.insert(Blocked::Address(address), now + wait);
                return Err(too_many("from this address", wait));
            }
        }
        counters.pairs.check_key(&(address, account)).map_err(|refusal| {
            let wait = wait(refusal);
            state.blocked.insert(Blocked::Pair(address, account), now + wait);
            too_many("at this account from this address", wait)
        })
    }

    /// Remembers that an account has logged in from an address.
    pub fn note_success(&self, address: Option<IpAddr>, account: Account) {
        let (Some(_), Some(address)) = (&self.limit, address.map(counted)) else { return };
        let mut state = self.state();
        state.accounts.remove(&account);
        state.blocked.remove(&Blocked::Account(account));
        if state.known.len() >= KEYS_MAX {
            let oldest = state.known.iter().min_by_key(|(_, seen)| **seen).map(|(pair, _)| *pair);
            oldest.map(|pair| state.known.remove(&pair));
        }
        state.known.insert((address, account), Instant::now());
    }
}

impl State {
    fn is_known(&self, address: IpAddr, account: Account) -> bool {
        self.known.get(&(address, account)).is_some_and(|seen| seen.elapsed() < KNOWN_TIME)
    }

    fn failures(&mut self, account: Account) -> &mut Failures {
        let now = Instant::now();
        let is_recent = |last: Instant, time| now.duration_since(last) < time;
        if self.accounts.len() >= KEYS_MAX && !self.accounts.contains_key(&account) {
            // Those with the fewest failures, made up by somebody, go first.
            self.accounts.retain(|_, it| it.n_trying > 0 || it.n > 1 && is_recent(it.last, FORGIVEN_AFTER));
        }
        let fresh = || Failures { n: 0, n_trying: 0, last: now };
        let failures = self.accounts.entry(account).or_insert_with(fresh);
        if !is_recent(failures.last, FORGIVEN_AFTER) {
            failures.n = 0;
        }
        failures
    }
}

/// A password that is being tried.
#[derive(Default)]
pub struct Attempt {
    _turn: Option<OwnedMutexGuard<()>>,
    counted: Option<(Arc<Guesses>, Account)>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some((guesses, account)) = &self.counted
            && let Some(failures) = guesses.state().accounts.get_mut(account)
        {
            failures.n_trying = failures.n_trying.saturating_sub(1);
        }
    }
}

fn too_many(what: &str, wait: Duration) -> ops::Error {
    let seconds = wait.as_secs() + 1;
    limited(format!("too many failed attempts {what}; try again in {seconds} s"), seconds)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use super::Guesses;

    fn address(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, number]))
    }

    #[tokio::test]
    async fn strangers_keep_nobody_out_where_they_log_in() {
        let guesses = Arc::new(Guesses::new(3));
        let (ann, bob) = (guesses.account("ann"), guesses.account(" Bob "));
        assert_eq!(bob, guesses.account("bob"));
        // Whatever logs in the same user counts as the same account.
        assert_eq!(guesses.account("admin"), guesses.account("ADM\u{131}N"));
        guesses.note_success(address(1), ann);
        // From many addresses at one account.
        for number in 10..60 {
            if guesses.begin(address(number), ann).await.is_ok() {
                let _ = guesses.note_password(address(number), ann);
            }
        }
        assert!(guesses.begin(address(99), ann).await.is_err(), "a stranger waits");
        assert!(guesses.begin(address(1), ann).await.is_ok(), "the owner does not");
        assert!(guesses.begin(address(99), bob).await.is_ok(), "others do not");
        // At many accounts from one address.
        for number in 0..200 {
            let _ = guesses.note_password(address(1), guesses.account(&number.to_string()));
        }
        assert!(guesses.begin(address(1), bob).await.is_err());
        assert!(guesses.begin(address(1), ann).await.is_ok());
        // Their own mistakes count, of course.
        for _ in 0..4 {
            let _ = guesses.note_password(address(1), ann);
        }
        assert!(guesses.begin(address(1), ann).await.is_err());
    }

    #[tokio::test]
    async fn guesses_from_many_addresses_at_once_are_few() {
        let guesses = Arc::new(Guesses::new(3));
        let ann = guesses.account("ann");
        let mut attempts = Vec::new();
        for number in 0..100 {
            attempts.extend(guesses.begin(address(number), ann).await.ok());
        }
        assert_eq!(attempts.len(), 3);
        drop(attempts);
        assert!(guesses.begin(address(1), ann).await.is_ok(), "attempts that did not fail are not counted");
    }
}
