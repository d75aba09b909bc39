//! Files that other requirements tools wrote.

use exchange::Format;
use expect_test::expect;

use crate::told_of;

#[test]
fn chapters_become_stories_and_the_rest_requirements() {
    expect![[r#"
        epic reference_id="s" title="Brakes"
        user_story reference_id="s.story" epic="s" title="Brakes"
        requirement reference_id="_3" user_story="s.story" title="Named by the object"
        user_story reference_id="_1" epic="s" title="Pedal"
        requirement reference_id="SYS-17" user_story="_1" title="The pedal shall return & rest." description="The pedal shall return & rest.\n- quickly\n- silently" status="Active"
        epic reference_id="objects" title="Brake system"
        user_story reference_id="objects.story" epic="objects" title="Brake system"
        requirement reference_id="_5" user_story="objects.story" title="Shown nowhere"
        relationship source="_3" target="SYS-17" type="derives_from"
        note: _4 (line 40): this object was left out: it has neither a name nor a text
        note: r2 (line 45): this relation was left out: it does not join two requirements of this file
        note: the file: Verification: left out (objects that have it: 1); nothing matches
        note: the file: picture or attached file: left out (objects that have it: 1); nothing matches
    "#]].assert_eq(&told_of(Format::Reqif, include_str!("brakes.reqif")));
}

#[test]
fn an_attribute_that_another_tool_added_is_mentioned() {
    let text = r#"<REQ-IF><CORE-CONTENT><REQ-IF-CONTENT><SPEC-OBJECTS><SPEC-OBJECT IDENTIFIER="EP-001">
        <TYPE><SPEC-OBJECT-TYPE-REF>type.epic</SPEC-OBJECT-TYPE-REF></TYPE><VALUES>
        <ATTRIBUTE-VALUE-STRING THE-VALUE="Sign in"><DEFINITION><R>field.epic.title</R></DEFINITION></ATTRIBUTE-VALUE-STRING>
        <ATTRIBUTE-VALUE-STRING THE-VALUE="red"><DEFINITION><R>field.colour</R></DEFINITION></ATTRIBUTE-VALUE-STRING>
        </VALUES></SPEC-OBJECT></SPEC-OBJECTS></REQ-IF-CONTENT></CORE-CONTENT></REQ-IF>"#;
    expect![[r#"
        epic title="Sign in"
        note: EP-001 (line 1): field.colour: left out: this attribute is not one of ours
    "#]]
    .assert_eq(&told_of(Format::Reqif, text));
}

#[test]
fn identifiers_that_stand_twice_or_lead_nowhere_are_told() {
    let text = r#"<REQ-IF><CORE-CONTENT><REQ-IF-CONTENT><SPEC-OBJECTS>
        <SPEC-OBJECT IDENTIFIER="o" LONG-NAME="First"/>
        <SPEC-OBJECT IDENTIFIER="p" LONG-NAME="Other"/>
        <SPEC-OBJECT IDENTIFIER="o" LONG-NAME="Second"/>
        </SPEC-OBJECTS><SPEC-RELATIONS>
        <SPEC-RELATION IDENTIFIER="p"/>
        </SPEC-RELATIONS><SPECIFICATIONS><SPECIFICATION IDENTIFIER="s" LONG-NAME="Brakes"><CHILDREN>
        <SPEC-HIERARCHY IDENTIFIER="h"><OBJECT><SPEC-OBJECT-REF>gone</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
        <SPEC-HIERARCHY><OBJECT><SPEC-OBJECT-REF>o</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
        <SPEC-HIERARCHY><OBJECT><SPEC-OBJECT-REF>p</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
        </CHILDREN></SPECIFICATION></SPECIFICATIONS></REQ-IF-CONTENT></CORE-CONTENT></REQ-IF>"#;
    expect![[r#"
        epic reference_id="s" title="Brakes"
        user_story reference_id="s.story" epic="s" title="Brakes"
        requirement reference_id="o" user_story="s.story" title="First"
        requirement reference_id="p" user_story="s.story" title="Other"
        problem: o (line 4): IDENTIFIER: expected each identifier once, found this one in line 2 too
        problem: p (line 6): IDENTIFIER: expected each identifier once, found this one in line 3 too
        note: h (line 8): it shows "gone", which is not in the file
    "#]]
    .assert_eq(&told_of(Format::Reqif, text));
}
