//! The burn-up: how many there were week by week, and how many of them were done, as two areas and as a table.

use maud::{Markup, html};
use serde_json::Value;

use crate::page::encode;
use crate::parts::text;

/// The size of the drawing.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 120.0;

/// The chart of some weeks. The numbers of the last one lead to lists: of all, and of those with a status that means done.
pub fn chart(weeks: &[Value], list: &str, done: &[&str]) -> Markup {
    let done: Vec<String> = done.iter().map(|status| format!("status={}", encode(status))).collect();
    let done_list = format!("{list}?{}", done.join("&"));
    let number = |week: &Value, name: &str| week[name].as_i64().unwrap_or_default();
    let most =
        weeks.iter().map(|week| number(week, "total").max(number(week, "done"))).max().unwrap_or_default();
    let (Some(first), Some(last)) = (weeks.first(), weeks.last()) else { return html! {} };
    let said = format!(
        "From {} of {} done in the week of {} to {} of {} in the week of {}",
        first["done"],
        first["total"],
        text(first, "week"),
        last["done"],
        last["total"],
        text(last, "week")
    );
    html! {
        @if most == 0 {
            p.muted { "There was no user story yet." }
        } @else {
            figure.burn-up {
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(said) {
                    path.total d=(area(weeks, "total", most)) {}
                    path.done d=(area(weeks, "done", most)) {}
                }
                figcaption {
                    span { (day(first)) }
                    span {
                        i.mark.done aria-hidden="true" {} " "
                        a href=(done_list) { (last["done"]) " done" } " of "
                        a href=(list) { (last["total"]) }
                    }
                    span { (day(last)) }
                }
                details {
                    summary { "Numbers" }
                    table.weeks {
                        thead { tr { th scope="col" { "Week of" } th scope="col" { "Done" } th scope="col" { "Total" } } }
                        tbody { @for week in weeks {
                            tr { th scope="row" { (day(week)) } td.count { (week["done"]) } td.count { (week["total"]) } }
                        } }
                    }
                }
            }
        }
    }
}

fn day(week: &Value) -> Markup {
    html! { time datetime=(text(week, "week")) { (text(week, "week")) } }
}

/// The area below a line through the weeks, in the words of SVG.
fn area(weeks: &[Value], name: &str, most: i64) -> String {
    let step = WIDTH / (weeks.len().max(2) - 1) as f64;
    let line: Vec<String> = weeks
        .iter()
        .enumerate()
        .map(|(index, week)| {
            let share = week[name].as_i64().unwrap_or_default() as f64 / most as f64;
            format!("{:.1} {:.1}", index as f64 * step, HEIGHT - share * (HEIGHT - 4.0))
        })
        .collect();
    let end = (weeks.len().max(1) - 1) as f64 * step;
    format!("M0 {HEIGHT} L{} L{end:.1} {HEIGHT} Z", line.join(" L"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_chart_says_in_words_what_it_shows() {
        let weeks = [
            json!({"week": "2026-11-09", "total": 2, "done": 0}),
            json!({"week": "2026-11-16", "total": 4, "done": 1}),
        ];
        let html = chart(&weeks, "/p/X/list/user_story", &["Done", "Signed off"]).into_string();
        assert!(
            html.contains("From 0 of 2 done in the week of 2026-11-09 to 1 of 4 in the week of 2026-11-16"),
            "{html}"
        );
        assert!(html.contains("M0 120 L0.0 62.0 L480.0 4.0 L480.0 120 Z"), "{html}");
        assert!(html.contains("M0 120 L0.0 120.0 L480.0 91.0 L480.0 120 Z"), "{html}");
        assert!(html.contains("href=\"/p/X/list/user_story?status=Done&amp;status=Signed%20off\""), "{html}");
        assert_eq!(chart(&[], "/", &[]).into_string(), "");
        let nothing = chart(&[json!({"week": "2026-11-16", "total": 0, "done": 0})], "/", &[]).into_string();
        assert!(nothing.contains("no user story"), "{nothing}");
    }
}
