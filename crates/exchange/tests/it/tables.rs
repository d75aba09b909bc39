//! Tables of other tools come in without being edited.

use std::io::{Cursor, Write as _};

use exchange::{
    Mapping, Reading, RecordKind, TableFormat, TableOptions, preview_table, read_prose, read_table,
};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::told;

#[test]
fn a_list_from_excel() {
    check(
        "Summary;Details;Prio;Owner\nLinks expire;After an hour.;High;jane\nLinks work once;;P4;\n",
        expect![[r#"
            epic title="Imported from sheet" aliases="sheet:imported"
            user_story epic="sheet:imported" title="Imported from sheet" aliases="sheet:imported.story"
            requirement user_story="sheet:imported.story" title="Links expire" description="After an hour." priority="2" assignee="jane" aliases="sheet:Links expire"
            requirement user_story="sheet:imported.story" title="Links work once" priority="4" aliases="sheet:Links work once"
        "#]],
    );
}

#[test]
fn an_export_of_jira_with_epics_stories_and_repeated_columns() {
    check(
        "Summary,Issue key,Issue id,Issue Type,Status,Priority,Assignee,Labels,Labels,Description,Parent,Custom field (Epic Link),Created\n\
         Token is short,SHOP-3,10003,Bug,To Do,Highest,Jane Doe,auth,web,It has 8 letters,10002,,17/Nov/26\n\
         Reset a password,SHOP-2,10002,Story,In Progress,Medium,,auth,,,,SHOP-1,17/Nov/26\n\
         Sign in,SHOP-1,10001,Epic,Done,Low,,,,,,,17/Nov/26\n\
         Send a mail,SHOP-4,10004,Sub-task,Done,Meduim,,,,,SHOP-2,,17/Nov/26\n\
         Log failures,SHOP-5,10005,Task,Done,Someday,,,,,SHOP-1,,17/Nov/26\n\
         Lost,SHOP-6,10006,Task,Done,,,,,,SHOP-99,,17/Nov/26\n",
        expect![[r#"
            requirement user_story="jira:SHOP-2" title="Token is short" description="It has 8 letters" labels="auth, web" priority="1" status="To Do" assignee="Jane Doe" aliases="jira:SHOP-3"
            user_story epic="jira:SHOP-1" title="Reset a password" labels="auth" priority="3" status="In Progress" aliases="jira:SHOP-2"
            epic title="Sign in" priority="4" status="Done" aliases="jira:SHOP-1"
            requirement user_story="jira:SHOP-2" title="Send a mail" priority="3" status="Done" aliases="jira:SHOP-4"
            user_story epic="jira:SHOP-1" title="Sign in" aliases="jira:SHOP-1.story"
            requirement user_story="jira:SHOP-1.story" title="Log failures" status="Done" aliases="jira:SHOP-5"
            epic title="Imported from jira" aliases="jira:imported"
            user_story epic="jira:imported" title="Imported from jira" aliases="jira:imported.story"
            requirement user_story="jira:imported.story" title="Lost" status="Done" aliases="jira:SHOP-6"
            note: row 5 (line 5): Priority: "Meduim" was taken for "medium"
            note: row 6 (line 6): Priority: left out: expected 1 to 4, or a word such as Critical, High, Medium, Low, found "Someday"
            note: the file: Created: left out (rows that have it: 6); no field matches
            note: row 7 (line 7): parent: "SHOP-99" is neither in the table nor here, so the row is filed without it
        "#]],
    );
}

#[test]
fn exports_of_linear_github_and_azure() {
    check(
        "ID\tTeam\tTitle\tDescription\tStatus\tEstimate\tPriority\tAssignee\tLabels\tParent issue\n\
         ENG-1\tEngine\tSpeed\t\tBacklog\t3\tUrgent\t\t\t\n\
         ENG-2\tEngine\tFast starts\t\tTodo\t\tNo priority\tann@example.org\tperf\tENG-1\n",
        expect![[r#"
            epic title="Imported from linear" aliases="linear:imported"
            user_story epic="linear:imported" title="Speed" priority="1" status="Backlog" aliases="linear:ENG-1"
            requirement user_story="linear:ENG-1" title="Fast starts" labels="perf" status="Todo" assignee="ann@example.org" aliases="linear:ENG-2"
            note: the file: Team: left out (rows that have it: 2); no field matches
            note: the file: Estimate: left out (rows that have it: 1); no field matches
        "#]],
    );
    check(
        "number,title,body,state,labels,assignees,url\n12,Crash,\"Twice\n\na day\",OPEN,\"bug, ui\",octo,https://example.org/12\n",
        expect![[r#"
            epic title="Imported from github" aliases="github:imported"
            user_story epic="github:imported" title="Imported from github" aliases="github:imported.story"
            requirement user_story="github:imported.story" title="Crash" description="Twice\n\na day" labels="bug, ui" status="OPEN" assignee="octo" aliases="github:12"
        "#]],
    );
    check(
        "ID,Work Item Type,Title 1,Title 2,Title 3,Assigned To,State,Tags,Parent\n\
         1,Epic,Shop,,,,New,,\n2,Feature,,Pay,,,Active,money,1\n3,User Story,,,Pay by card,,New,,2\n4,Task,,,Log it,,New,,3\n",
        expect![[r#"
            epic title="Shop" status="New" aliases="azure:1"
            user_story epic="azure:1" title="Pay" labels="money" status="Active" aliases="azure:2"
            user_story epic="azure:1" title="Pay by card" status="New" aliases="azure:3"
            requirement user_story="azure:3" title="Log it" status="New" aliases="azure:4"
        "#]],
    );
}

#[test]
fn titles_of_epics_and_stories_in_columns_make_them() {
    check(
        "Requirements of the shop;;;\n\nEpic;Story;Requirement;Type\nPay;By card;Cards are checked;Non-Functional\nPay;By card;Cards are kept;\nPay;;Receipts are sent;\n;;Pages are quick;\n",
        expect![[r#"
            epic title="Pay" aliases="sheet:epic: Pay"
            user_story epic="sheet:epic: Pay" title="By card" aliases="sheet:story: By card"
            requirement user_story="sheet:story: By card" type="Non-Functional" title="Cards are checked" aliases="sheet:Cards are checked"
            requirement user_story="sheet:story: By card" title="Cards are kept" aliases="sheet:Cards are kept"
            user_story epic="sheet:epic: Pay" title="Pay" aliases="sheet:epic: Pay.story"
            requirement user_story="sheet:epic: Pay.story" title="Receipts are sent" aliases="sheet:Receipts are sent"
            epic title="Imported from sheet" aliases="sheet:imported"
            user_story epic="sheet:imported" title="Imported from sheet" aliases="sheet:imported.story"
            requirement user_story="sheet:imported.story" title="Pages are quick" aliases="sheet:Pages are quick"
            note: row 1 (line 1): left out: "Requirements of the shop" is above the names of the columns
        "#]],
    );
}

#[test]
fn a_mapping_says_what_guesses_do_not() {
    let text = "Was;Wie wichtig;Wer;Nr\nLinks verfallen;1;jane;A-1\n";
    check(
        text,
        expect![[r#"
        problem: row 1 (line 1): no column is the title; say which one is, such as --map "NAME=title"; the columns are "Was", "Wie wichtig", "Wer", "Nr"
    "#]],
    );
    let mapped = |map: &str| told(&read(text.as_bytes(), TableFormat::Csv, map, &[]));
    expect![[r#"
        epic title="Imported from sheet" aliases="sheet:imported"
        user_story epic="sheet:imported" title="Imported from sheet" aliases="sheet:imported.story"
        requirement user_story="sheet:imported.story" title="Links verfallen" priority="1" assignee="jane" aliases="sheet:A-1"
    "#]].assert_eq(&mapped("Was=title,Wie wichtig=priority,\"Wer\"=owner"));
    expect![[r#"
        problem: row 1 (line 1): there is no column "Wass"; did you mean "Was"?
    "#]]
    .assert_eq(&mapped("Wass=title"));
    let message = |map: &str| Mapping::parse(map).expect_err(map);
    assert_eq!(message("Was=titel"), "unknown field \"titel\"; did you mean `title`?");
    assert!(message("Was").starts_with("expected COLUMN=FIELD"), "{}", message("Was"));
    assert!(message("a=title,a=status").contains("twice"));
}

#[test]
fn an_export_of_doorstop_names_its_items_by_uid() {
    let text = "uid,level,text,normative\nREQ001,1.0,The kettle MUST whistle.,True\n";
    expect![[r#"
        epic title="Imported from sheet" aliases="sheet:imported"
        user_story epic="sheet:imported" title="Imported from sheet" aliases="sheet:imported.story"
        requirement user_story="sheet:imported.story" title="The kettle MUST whistle." aliases="sheet:REQ001"
        note: the file: level: left out (rows that have it: 1); no field matches
        note: the file: normative: left out (rows that have it: 1); no field matches
    "#]]
    .assert_eq(&told(&read(text.as_bytes(), TableFormat::Csv, "text=title", &[])));
}

#[test]
fn encodings_are_recognised() {
    let text = "Summary;Prio\nÜber “Größe”;High\n";
    let utf16 = |order: fn(u16) -> [u8; 2], mark: &[u8]| {
        [mark, &text.encode_utf16().flat_map(order).collect::<Vec<u8>>()].concat()
    };
    let windows = text.chars().map(|char| match char {
        '“' => 0x93,
        '”' => 0x94,
        char => u8::try_from(u32::from(char)).expect("Latin 1"),
    });
    for bytes in [
        text.as_bytes().to_vec(),
        format!("\u{feff}{text}").into_bytes(),
        utf16(u16::to_le_bytes, &[0xff, 0xfe]),
        utf16(u16::to_be_bytes, &[0xfe, 0xff]),
        utf16(u16::to_le_bytes, &[]),
        windows.collect(),
    ] {
        let found = read(&bytes, TableFormat::Csv, "", &[]);
        assert_eq!(
            found.records.last().and_then(|record| record.text("title")),
            Some("Über “Größe”"),
            "{bytes:?}"
        );
    }
}

#[test]
fn what_is_stored_already_is_named_and_not_made_again() {
    let text = "Key,Summary,Parent\nA-1,One,A-9\nA-2,Two,A-8\nA-3,Three,\n";
    let stored = [
        ("A-9", RecordKind::Epic),
        ("A-8", RecordKind::UserStory),
        ("imported.story", RecordKind::UserStory),
    ];
    let found = told(&read(text.as_bytes(), TableFormat::Csv, "", &stored));
    expect![[r#"
        user_story epic="sheet:A-9" title="A-9" aliases="sheet:A-9.story"
        requirement user_story="sheet:A-9.story" title="One" aliases="sheet:A-1"
        requirement user_story="sheet:A-8" title="Two" aliases="sheet:A-2"
        requirement user_story="sheet:imported.story" title="Three" aliases="sheet:A-3"
    "#]]
    .assert_eq(&found);
}

#[test]
fn a_preview_shows_guesses_and_samples() {
    let text = "Summary;Details;Points;Prio\nOne;Long;3;High\nTwo;;5;\n";
    let preview = preview_table(TableFormat::Csv, &mut text.as_bytes(), &Mapping::default()).expect("memory");
    let columns = preview.columns.iter().map(|column| {
        format!(
            "{} -> {} {:?}",
            column.name,
            column.target.map_or("-", exchange::Target::name),
            column.samples
        )
    });
    assert_eq!(
        columns.collect::<Vec<_>>(),
        [
            "Summary -> title [\"One\", \"Two\"]",
            "Details -> description [\"Long\", \"\"]",
            "Points -> - [\"3\", \"5\"]",
            "Prio -> priority [\"High\", \"\"]",
        ]
    );
    assert_eq!((preview.n_rows, preview.scheme.as_str(), preview.is_ours), (2, "sheet", false));
    // Where no column is known as the title, one can be chosen.
    let text = "Was;Wichtig\nEins;1\nZwei;2\n";
    let preview = preview_table(TableFormat::Csv, &mut text.as_bytes(), &Mapping::default()).expect("memory");
    assert_eq!((preview.columns.len(), preview.n_rows, preview.problems), (2, 2, Vec::new()));
    assert_eq!(preview.columns[0].samples, ["Eins", "Zwei"]);
}

#[test]
fn a_workbook_of_excel() {
    let sheet = |rows: &str| format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
    let rows = r#"<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Prio</t></is></c></row>
        <row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3"><v>2</v></c></row>"#;
    let strings = r#"<sst uniqueCount="2"><si><t>Summary</t></si><si><t>Links expire</t></si></sst>"#;
    let found = told(&read(&workbook(&sheet(rows), strings), TableFormat::Xlsx, "", &[]));
    expect![[r#"
        epic title="Imported from sheet" aliases="sheet:imported"
        user_story epic="sheet:imported" title="Imported from sheet" aliases="sheet:imported.story"
        requirement user_story="sheet:imported.story" title="Links expire" priority="2" aliases="sheet:Links expire"
    "#]].assert_eq(&found);
}

#[test]
fn a_workbook_that_would_take_all_memory_is_rejected() {
    let sheet = "<worksheet><sheetData></sheetData></worksheet>";
    let many = r#"<sst uniqueCount="99999999999999"><si><t>a</t></si></sst>"#;
    let told_of = |bytes: &[u8]| told(&read(bytes, TableFormat::Xlsx, "", &[]));
    let found = told_of(&workbook(sheet, many));
    assert!(found.contains("more strings than it can have"), "{found}");
    // Split between two reads.
    let far = format!("<sst {} uniqueCount=\"99999999999999\"/>", " ".repeat((64 << 10) - 12));
    assert!(told_of(&workbook(sheet, &far)).contains("more strings"));
    let bomb = format!("<sst><si><t>{}</t></si></sst>", " ".repeat(65 << 20));
    let found = told_of(&workbook(sheet, &bomb));
    assert!(found.contains("unpacks to more than 64 MiB"), "{found}");
    let far_away =
        r#"<worksheet><sheetData><row r="1"><c r="XFD1"><v>1</v></c></row></sheetData></worksheet>"#;
    let found = told_of(&workbook(far_away, "<sst/>"));
    assert!(found.contains("at most 1000 columns"), "{found}");
    assert!(told_of(b"PK\x03\x04 and nothing else").contains("found no archive"));
}

#[test]
fn plain_markdown() {
    let told_of = |text: &str| {
        let (mut records, mut unsound) = (Vec::new(), Vec::new());
        let reading = read_prose(&mut text.as_bytes(), "markdown", &mut |record, is_sound| {
            if is_sound { &mut records } else { &mut unsound }.push(record);
            Ok(())
        });
        told(&Reading { records, unsound, ..reading.expect("memory") })
    };
    expect![[r#"
        epic title="Sign in" description="Customers sign in." aliases="markdown:sign-in"
        user_story epic="markdown:sign-in" title="Reset a password" description="Whoever forgot it." aliases="markdown:sign-in/reset-a-password"
        requirement user_story="markdown:sign-in/reset-a-password" title="A link works once." description="A link works once. Then it is gone." aliases="markdown:SYS-7"
        requirement user_story="markdown:sign-in/reset-a-password" title="Links expire after an hour:" description="Links expire\n  after an hour:\n  - in all time zones" aliases="markdown:sign-in/reset-a-password/links-expire-after-an-hour"
        requirement user_story="markdown:sign-in/reset-a-password" title="The server MUST log each try." aliases="markdown:sign-in/reset-a-password/the-server-must-log-each-try"
        acceptance_criteria user_story="markdown:sign-in/reset-a-password" description="Given a link, it works" aliases="markdown:sign-in/reset-a-password/given-a-link-it-works"
        user_story epic="markdown:sign-in" title="Reset a password: Mails" description="```\n# no heading\n- no item\n```" aliases="markdown:sign-in/reset-a-password-mails"
        requirement user_story="markdown:sign-in/reset-a-password-mails" title="Mails are short" aliases="markdown:sign-in/reset-a-password-mails/mails-are-short"
        epic title="Pay" aliases="markdown:pay"
        user_story epic="markdown:pay" title="Pay" aliases="markdown:pay/pay"
        requirement user_story="markdown:pay/pay" title="Cards work" aliases="markdown:pay/pay/cards-work"
        note: line 6: this paragraph was left out: it is below neither an epic nor a story
    "#]].assert_eq(&told_of(
        "---\nauthor: jane\n---\n# The shop\n\nAll about it.\n\n## Sign in\n\nCustomers sign in.\n\n### Reset a password\n\nWhoever forgot it.\n\n\
         - SYS-7: A link works once. Then it is gone.\n- [ ] Links expire\n  after an hour:\n  - in all time zones\n\nThe server MUST log each try.\n\n\
         Acceptance criteria:\n\n* Given a link, it works\n\n#### Mails\n\n1. Mails are short\n\n```\n# no heading\n- no item\n```\n\n## Pay\n- Cards work\n",
    ));
    expect![[r#"
        problem: line 1: expected headings and lists, found neither
        note: line 1: this paragraph was left out: it is below neither an epic nor a story
    "#]]
    .assert_eq(&told_of("Hello\n"));
    expect![[r#"
        epic title="Sign in" aliases="markdown:sign-in"
        user_story epic="markdown:sign-in" title="Reset" aliases="markdown:sign-in/reset"
        requirement user_story="markdown:sign-in/reset" title="One" aliases="markdown:sign-in/reset/one"
        requirement user_story="markdown:sign-in/reset" title="One" aliases="markdown:sign-in/reset/one-2"
    "#]]
    .assert_eq(&told_of("Sign in\n=======\n\nReset\n-----\n\n- One\n- One\n"));
}

proptest! {
    #[test]
    fn any_bytes_give_records_or_problems(bytes in proptest::collection::vec(any::<u8>(), 0..400), map in ".{0,30}") {
        for format in [TableFormat::Csv, TableFormat::Xlsx] {
            read(&bytes, format, "", &[]);
            preview_table(format, &mut &*bytes, &Mapping::default()).expect("memory");
        }
        let _ = Mapping::parse(&map);
        read_prose(&mut &*bytes, "markdown", &mut |_, _| Ok(())).expect("memory");
    }

    #[test]
    fn any_broken_workbook_gives_problems(at in 0_usize..1200, byte in any::<u8>(), cut in 0_usize..1200) {
        let sheet = r#"<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row></sheetData></worksheet>"#;
        let mut bytes = workbook(sheet, "<sst uniqueCount=\"1\"><si><t>Title</t></si></sst>");
        let index = at % bytes.len();
        bytes[index] = byte;
        read(&bytes, TableFormat::Xlsx, "", &[]);
        bytes.truncate(cut);
        read(&bytes, TableFormat::Xlsx, "", &[]);
    }

    #[test]
    fn any_lines_are_markdown(text in "([#>*-]{0,3} ?[A-Za-z:.`|=_ ]{0,12}\n){0,20}") {
        read_prose(&mut text.as_bytes(), "markdown", &mut |_, _| Ok(())).expect("memory");
    }

    #[test]
    fn a_mapping_reads_what_was_written(names in proptest::collection::btree_set("[a-zA-Z,=\" ]{1,8}", 1..4)) {
        let names: Vec<&str> = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
        let unique: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        prop_assume!(unique.len() == names.len());
        let text = Mapping::text(names.iter().map(|name| (*name, "title")));
        prop_assert!(Mapping::parse(&text).is_ok(), "{}", text);
    }
}

/// A small workbook with one sheet.
fn workbook(sheet: &str, strings: &str) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let relations = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
        <Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>
        <Relationship Id="r2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/>
        </Relationships>"#;
    let root = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
        <Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/>
        </Relationships>"#;
    let book = r#"<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">
        <sheets><sheet name="List" sheetId="1" r:id="r1"/></sheets></workbook>"#;
    for (name, content) in [
        ("_rels/.rels", root),
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", relations),
        ("xl/sharedStrings.xml", strings),
        ("xl/worksheets/sheet1.xml", sheet),
    ] {
        archive.start_file(name, options).expect("a name");
        archive.write_all(content.as_bytes()).expect("memory");
    }
    archive.finish().expect("memory").into_inner()
}

fn read(bytes: &[u8], format: TableFormat, map: &str, stored: &[(&str, RecordKind)]) -> Reading {
    let (mut records, mut unsound) = (Vec::new(), Vec::new());
    let options = TableOptions { mapping: Mapping::parse(map).expect("a mapping"), scheme: None };
    let mut known = |_: &str, ids: &[String]| {
        let kind = |id: &String| stored.iter().find(|(known, _)| known == id).map(|(_, kind)| *kind);
        Ok(ids.iter().map(kind).collect())
    };
    let reading = read_table(format, &mut &*bytes, &options, &mut known, &mut |record, is_sound| {
        if is_sound { &mut records } else { &mut unsound }.push(record);
        Ok(())
    });
    Reading { records, unsound, ..reading.expect("memory") }
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&told(&read(text.as_bytes(), TableFormat::Csv, "", &[])));
}
