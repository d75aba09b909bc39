//! `/sign-in`: by password or by token, and `/welcome`: by a one-time link, without knowing anybody yet.

use maud::{Markup, html};
use ops::known;
use serde_json::Value;

use crate::layout::bare;
use crate::page::Problem;
use crate::parts::{NEXT, hidden, post, text};

/// The path.
pub const SIGN_IN: &str = "/sign-in";
/// The path of one-time links.
pub const WELCOME: &str = "/welcome";

/// The page, with what went wrong before if anything did.
pub fn sign_in(next: &str, username: &str, problem: Option<&Problem>) -> Markup {
    let action = format!("/do/{}", known::LOGIN.name);
    bare(
        "Sign in",
        html! {
            section.card.narrow {
                h1 { "Spexus" }
                p.muted { "Requirements, their traces in code, and the threats against them." }
                @if let Some(problem) = problem { p.error role="alert" data-retry=[problem.retry_after_s] { (problem.message) } }
                form method="post" action=(action) {
                    (hidden(NEXT, next))
                    (hidden("cookie", "true"))
                    div.field {
                        label for="username" { "Name" }
                        input #username type="text" name="username" value=(username) autocomplete="username" required autofocus;
                    }
                    div.field {
                        label for="password" { "Password" }
                        input #password type="password" name="password" autocomplete="current-password" required;
                    }
                    button.primary { "Sign in" }
                }
                details {
                    summary { "Sign in with a token" }
                    form method="post" action=(action) {
                        (hidden(NEXT, next))
                        (hidden("cookie", "true"))
                        div.field {
                            label for="token" { "Personal access token" }
                            input #token type="password" name="token" autocomplete="off" required;
                        }
                        button { "Sign in" }
                    }
                }
            }
        },
    )
}

/// The form alone, shown over a page whose session has ended, so that nothing typed there is lost.
pub fn sign_in_dialog(username: &str) -> Markup {
    html! {
        form data-sign-in method="post" action={ "/do/" (known::LOGIN.name) } {
            h2 { "Your session has ended" }
            p.muted { "Sign in again; what you typed is kept." }
            (hidden(NEXT, "/"))
            (hidden("cookie", "true"))
            div.field {
                label for="again-username" { "Name" }
                input #again-username type="text" name="username" value=(username) autocomplete="username" required;
            }
            div.field {
                label for="again-password" { "Password" }
                input #again-password type="password" name="password" autocomplete="current-password" required;
            }
            p.error role="alert" hidden { "The name or the password is wrong." }
            p.actions { button.primary { "Sign in" } button.quiet type="button" data-close { "Cancel" } }
        }
    }
}

/// The page of a one-time link, with what is known of it. Where `at_once` is set, a script presses the button.
pub fn welcome(code: &str, link: &Value, next: &str, at_once: bool, problem: Option<&Problem>) -> Markup {
    let sets_password = link["sets_password"] == true;
    bare(
        "Welcome",
        html! {
            section.card.narrow {
                h1 { "Welcome to Spexus" }
                @if let Some(problem) = problem { p.error role="alert" data-retry=[problem.retry_after_s] { (problem.message) } }
                p { "This link signs you in as " b { (text(link, "user")) } ", once." }
                (post(known::USE_SIGN_IN_LINK, next, html! {
                    (hidden("code", code))
                    (hidden("cookie", "true"))
                    @if sets_password {
                        // For password managers, which want to know whose password it is; it is not sent.
                        input type="text" value=(text(link, "user")) autocomplete="username" hidden;
                        div.field {
                            label for="new_password" { "New password" }
                            input #new_password type="password" name="new_password" autocomplete="new-password" minlength="8"
                                aria-describedby="about_password" autofocus;
                            p.help #about_password { "At least 8 characters. Leave it empty to keep the present password." }
                        }
                    }
                    button.primary data-press=[at_once.then_some("")] { "Sign in" }
                }))
            }
        },
    )
}

/// The page of a one-time link that does not work.
pub fn no_welcome(problem: &Problem) -> Markup {
    bare(
        "Link",
        html! {
            section.card.narrow {
                h1 { "This link does not work" }
                p.error role="alert" { (problem.message) }
                p { a href=(SIGN_IN) { "Sign in" } " with a password or a token." }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_guessed_too_often_sees_the_seconds_pass() {
        let problem = Problem {
            status: 429,
            message: "too many failed logins".to_owned(),
            fields: Vec::new(),
            retry_after_s: Some(30),
        };
        let html = sign_in("/", "ann", Some(&problem)).into_string();
        assert!(html.contains("role=\"alert\" data-retry=\"30\">too many failed logins<"), "{html}");
    }
}
