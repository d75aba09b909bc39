//! Saved views as tabs above the table.

use maud::{Markup, html};
use ops::known;
use serde_json::Value;
use store::model::Role;

use super::{Table, address};
use crate::parts::{hidden, post, text};

impl Table<'_> {
    /// The tabs, and what can be done with the view that is shown.
    pub fn views(&self) -> Markup {
        let asked = self.view.asked;
        let views = self.view.answers.list("views");
        let current = views.iter().find(|view| address::is_here(asked, text(view, "query")));
        let is_everything = current.is_none() && address::lasting(asked).next().is_none();
        html! {
            div.views {
                nav.tabs aria-label="Saved views" {
                    a href=(asked.path) aria-current=[is_everything.then_some("page")] { "All" }
                    @for view in views {
                        @let is_current = current == Some(view);
                        a href={ (asked.path) "?" (text(view, "query")) } aria-current=[is_current.then_some("page")]
                            title=[(view["shared"] == true).then(|| format!("Shared by {}", text(view, "owner")))] {
                            (text(view, "name"))
                            @if view["shared"] == true { span.shared aria-label="shared" role="img" { " ◦" } }
                        }
                    }
                }
                @if self.view.me.may(known::SAVE_VIEW) { (self.save(current)) }
            }
        }
    }

    /// A form that saves what is shown, and one that deletes the view that it is.
    fn save(&self, current: Option<&Value>) -> Markup {
        let asked = self.view.asked;
        let here = address::here(asked);
        let me = self.view.me;
        let is_own = |view: &Value| text(view, "owner") == me.username;
        let deletable = current.filter(|view| is_own(view) || me.role == Role::Administrator);
        let may_share = known::WRITES.iter().any(|(kind, _, update)| *kind == self.kind && me.may(update));
        html! {
            details.menu.choose.save {
                summary { @if current.is_some() { "View" } @else { "Save view" } }
                div.sheet {
                    (post(known::SAVE_VIEW, &here, html! {
                        (hidden("project", self.key)) (hidden("kind", self.kind.name()))
                        (hidden("query", &address::query(address::lasting(asked))))
                        label { span { "Name" } input type="text" name="name" required maxlength="60" autocomplete="off"
                            value=(current.filter(|view| is_own(view)).map(|view| text(view, "name")).unwrap_or_default()); }
                        @if may_share {
                            (hidden("shared", "false"))
                            label.check { input type="checkbox" name="shared" value="true" checked[current.is_some_and(|view| is_own(view) && view["shared"] == true)]; " For everybody in the project" }
                        }
                        button.primary { "Save" }
                    }))
                    @if let Some(view) = deletable {
                        (post(known::DELETE_VIEW, &asked.path, html! {
                            (hidden("view_id", text(view, "id"))) (hidden("expected_version", &view["version"].to_string()))
                            button.quiet.danger { "Delete “" (text(view, "name")) "”" }
                        }))
                    }
                }
            }
        }
    }
}
