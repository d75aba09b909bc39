//! What can be done with the rows that are selected. It is always tried first.

use maud::{Markup, html};
use ops::known;

use super::{Table, address};
use crate::pages::{has_status, statuses};
use crate::parts::{NEXT, PRIORITIES, hidden};

impl Table<'_> {
    /// The bar at the foot of the table.
    pub fn bar(&self) -> Markup {
        let Some(_) = self.update.filter(|_| self.view.me.may(known::BULK_UPDATE)) else { return html! {} };
        let statuses = statuses(self.view);
        html! {
            form #selected.bulk method="post" action={ "/p/" (self.key) "/list/" (self.kind.name()) "/change" } aria-label="Change selected rows" {
                (hidden(NEXT, &address::here(self.view.asked)))
                p.bulk-count role="status" { span.script-only data-selected="" { "0 selected" } span.no-script { "With the selected rows:" } }
                @if has_status(self.kind) {
                    select name="status" aria-label="New status" autocomplete="off" {
                        option value="" { "Status" }
                        @for name in &statuses { option value=(name) { (name) } }
                    }
                    select name="priority" aria-label="New priority" autocomplete="off" {
                        option value="" { "Priority" }
                        @for (number, name) in (1..).zip(PRIORITIES) { option value=(number) { (name) } }
                    }
                    input type="text" name="assignee_id" list="people" size="12" placeholder="Assignee" aria-label="New assignee, or - for nobody" autocomplete="off";
                }
                input type="text" name="add_label" size="10" placeholder="Add label" aria-label="Label to add" autocomplete="off";
                input type="text" name="remove_label" size="12" placeholder="Remove label" aria-label="Label to remove" autocomplete="off";
                button.primary { "Review…" }
                button.danger name="delete" value="true" { "Delete…" }
                button.quiet.script-only type="button" data-unselect="" { "Clear" }
            }
        }
    }
}
