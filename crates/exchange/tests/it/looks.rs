//! One small project in each format, as a reader of the file sees it.

use exchange::{Format, Record, RecordKind, read};
use expect_test::{Expect, expect};

use crate::written;

#[test]
fn json() {
    check(
        Format::Json,
        expect![[r#"
        {
          "format": "spexus",
          "version": 1,
          "records": [
            {
              "kind": "project",
              "key": "SHOP",
              "name": "Web shop"
            },
            {
              "kind": "epic",
              "reference_id": "SHOP-EP-001",
              "title": "Sign in",
              "description": "Customers sign in:\n\n- with a password\n- with a \"magic\" link",
              "priority": 2,
              "status": "In Progress",
              "updated_at": "2026-11-15T08:00:00.123456Z"
            },
            {
              "kind": "user_story",
              "reference_id": "SHOP-US-001",
              "epic": "SHOP-EP-001",
              "title": "Пароль: сброс",
              "priority": 1
            },
            {
              "kind": "acceptance_criteria",
              "reference_id": "SHOP-AC-001",
              "user_story": "SHOP-US-001",
              "description": "A link works once."
            },
            {
              "kind": "requirement",
              "reference_id": "SHOP-REQ-001",
              "user_story": "SHOP-US-001",
              "acceptance_criteria": "SHOP-AC-001",
              "type": "Functional",
              "title": "=cmd() is no formula",
              "description": " begins with a blank"
            },
            {
              "kind": "requirement",
              "reference_id": "SHOP-REQ-002",
              "user_story": "SHOP-US-001",
              "title": "Links expire"
            },
            {
              "kind": "comment",
              "entity": "SHOP-REQ-002",
              "author": "ada",
              "content": "After an hour?",
              "resolved": false
            },
            {
              "kind": "relationship",
              "source": "SHOP-REQ-002",
              "target": "SHOP-REQ-001",
              "type": "depends_on"
            }
          ]
        }
    "#]],
    );
}

#[test]
fn csv() {
    check(
        Format::Csv,
        expect![[r#"
            ﻿kind,reference_id,epic,user_story,id,acceptance_criteria,type,title,description,rationale,labels,priority,status,creator,assignee,version,created_at,updated_at,deleted_at,aliases,key,name,inverse_name,acyclic,entity_kind,colour,initial,final,position,outcome,from,to,author,source,target,target_version,steering_document,entity,parent,content,quote,anchor_start,anchor_end,detached,resolved,role,active
            project,,,,,,,,,,,,,,,,,,,,SHOP,Web shop,,,,,,,,,,,,,,,,,,,,,,,,,
            epic,SHOP-EP-001,,,,,,Sign in,"Customers sign in:

            - with a password
            - with a ""magic"" link",,,2,In Progress,,,,,2026-11-15T08:00:00.123456Z,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
            user_story,SHOP-US-001,SHOP-EP-001,,,,,Пароль: сброс,,,,1,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
            acceptance_criteria,SHOP-AC-001,,SHOP-US-001,,,,,A link works once.,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
            requirement,SHOP-REQ-001,,SHOP-US-001,,SHOP-AC-001,Functional,'=cmd() is no formula, begins with a blank,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
            requirement,SHOP-REQ-002,,SHOP-US-001,,,,Links expire,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
            comment,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,ada,,,,,SHOP-REQ-002,,After an hour?,,,,,false,,
            relationship,,,,,,depends_on,,,,,,,,,,,,,,,,,,,,,,,,,,,SHOP-REQ-002,SHOP-REQ-001,,,,,,,,,,,,
        "#]],
    );
}

#[test]
fn markdown() {
    check(
        Format::Markdown,
        expect![[r#"
        ---
        kind: project
        key: SHOP
        ---
        # Web shop

        ---
        kind: epic
        reference_id: SHOP-EP-001
        priority: 2
        status: In Progress
        updated_at: 2026-11-15T08:00:00.123456Z
        ---
        # Sign in

        Customers sign in:

        - with a password
        - with a "magic" link

        ---
        kind: user_story
        reference_id: SHOP-US-001
        epic: SHOP-EP-001
        priority: 1
        ---
        # Пароль: сброс

        ---
        kind: acceptance_criteria
        reference_id: SHOP-AC-001
        user_story: SHOP-US-001
        ---

        A link works once.

        ---
        kind: requirement
        reference_id: SHOP-REQ-001
        user_story: SHOP-US-001
        acceptance_criteria: SHOP-AC-001
        type: Functional
        description: " begins with a blank"
        ---
        # =cmd() is no formula

        ---
        kind: requirement
        reference_id: SHOP-REQ-002
        user_story: SHOP-US-001
        ---
        # Links expire

        ---
        kind: comment
        entity: SHOP-REQ-002
        author: ada
        resolved: false
        ---

        After an hour?

        ---
        kind: relationship
        source: SHOP-REQ-002
        target: SHOP-REQ-001
        type: depends_on
        ---
    "#]],
    );
}

#[test]
fn reqif() {
    check(
        Format::Reqif,
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <REQ-IF xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd" xmlns:xhtml="http://www.w3.org/1999/xhtml">
              <THE-HEADER>
                <REQ-IF-HEADER IDENTIFIER="header.spexus">
                  <CREATION-TIME>2026-11-15T08:00:00Z</CREATION-TIME>
                  <REQ-IF-TOOL-ID>spexus</REQ-IF-TOOL-ID>
                  <REQ-IF-VERSION>1.0</REQ-IF-VERSION>
                  <SOURCE-TOOL-ID>spexus</SOURCE-TOOL-ID>
                  <TITLE>Web shop</TITLE>
                </REQ-IF-HEADER>
              </THE-HEADER>
              <CORE-CONTENT>
                <REQ-IF-CONTENT>
                  <DATATYPES>
                    <DATATYPE-DEFINITION-BOOLEAN IDENTIFIER="data.flag" LONG-NAME="flag" LAST-CHANGE="2026-11-01T00:00:00Z"/>
                    <DATATYPE-DEFINITION-INTEGER IDENTIFIER="data.number" LONG-NAME="number" LAST-CHANGE="2026-11-01T00:00:00Z" MIN="-9223372036854775808" MAX="9223372036854775807"/>
                    <DATATYPE-DEFINITION-STRING IDENTIFIER="data.text" LONG-NAME="text" LAST-CHANGE="2026-11-01T00:00:00Z" MAX-LENGTH="1000000"/>
                    <DATATYPE-DEFINITION-XHTML IDENTIFIER="data.prose" LONG-NAME="prose" LAST-CHANGE="2026-11-01T00:00:00Z"/>
                  </DATATYPES>
                  <SPEC-TYPES>
                    …
                    <SPEC-OBJECT-TYPE IDENTIFIER="type.user_story" LONG-NAME="user_story" LAST-CHANGE="2026-11-01T00:00:00Z">
                      <SPEC-ATTRIBUTES>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.reference_id" LONG-NAME="ReqIF.ForeignID" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.id" LONG-NAME="id" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.epic" LONG-NAME="epic" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.title" LONG-NAME="ReqIF.Name" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-XHTML IDENTIFIER="field.user_story.description" LONG-NAME="ReqIF.Text" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-XHTML-REF>data.prose</DATATYPE-DEFINITION-XHTML-REF></TYPE></ATTRIBUTE-DEFINITION-XHTML>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.rationale" LONG-NAME="rationale" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.labels" LONG-NAME="labels" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-INTEGER IDENTIFIER="field.user_story.priority" LONG-NAME="priority" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-INTEGER-REF>data.number</DATATYPE-DEFINITION-INTEGER-REF></TYPE></ATTRIBUTE-DEFINITION-INTEGER>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.status" LONG-NAME="status" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.creator" LONG-NAME="creator" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.assignee" LONG-NAME="assignee" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-INTEGER IDENTIFIER="field.user_story.version" LONG-NAME="version" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-INTEGER-REF>data.number</DATATYPE-DEFINITION-INTEGER-REF></TYPE></ATTRIBUTE-DEFINITION-INTEGER>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.created_at" LONG-NAME="created_at" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.updated_at" LONG-NAME="updated_at" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.deleted_at" LONG-NAME="deleted_at" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                        <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="field.user_story.aliases" LONG-NAME="aliases" LAST-CHANGE="2026-11-01T00:00:00Z"><TYPE><DATATYPE-DEFINITION-STRING-REF>data.text</DATATYPE-DEFINITION-STRING-REF></TYPE></ATTRIBUTE-DEFINITION-STRING>
                      </SPEC-ATTRIBUTES>
                    </SPEC-OBJECT-TYPE>
                    …
                  </SPEC-TYPES>
                  <SPEC-OBJECTS>
                    <SPEC-OBJECT IDENTIFIER="project.0" LAST-CHANGE="1970-01-01T00:00:00Z">
                      <TYPE><SPEC-OBJECT-TYPE-REF>type.project</SPEC-OBJECT-TYPE-REF></TYPE>
                      <VALUES>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.project.key</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="Web shop"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.project.name</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                      </VALUES>
                    </SPEC-OBJECT>
                    <SPEC-OBJECT IDENTIFIER="SHOP-EP-001" LAST-CHANGE="2026-11-15T08:00:00.123456Z">
                      <TYPE><SPEC-OBJECT-TYPE-REF>type.epic</SPEC-OBJECT-TYPE-REF></TYPE>
                      <VALUES>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-EP-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.epic.reference_id</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="Sign in"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.epic.title</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-XHTML><DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>field.epic.description</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION><THE-VALUE><xhtml:div style="white-space: pre-wrap">Customers sign in:<xhtml:br/><xhtml:br/>- with a password<xhtml:br/>- with a &quot;magic&quot; link</xhtml:div></THE-VALUE></ATTRIBUTE-VALUE-XHTML>
                        <ATTRIBUTE-VALUE-INTEGER THE-VALUE="2"><DEFINITION><ATTRIBUTE-DEFINITION-INTEGER-REF>field.epic.priority</ATTRIBUTE-DEFINITION-INTEGER-REF></DEFINITION></ATTRIBUTE-VALUE-INTEGER>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="In Progress"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.epic.status</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="2026-11-15T08:00:00.123456Z"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.epic.updated_at</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                      </VALUES>
                    </SPEC-OBJECT>
                    <SPEC-OBJECT IDENTIFIER="SHOP-US-001" LAST-CHANGE="1970-01-01T00:00:00Z">
                      <TYPE><SPEC-OBJECT-TYPE-REF>type.user_story</SPEC-OBJECT-TYPE-REF></TYPE>
                      <VALUES>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-US-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.user_story.reference_id</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-EP-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.user_story.epic</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="Пароль: сброс"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.user_story.title</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-INTEGER THE-VALUE="1"><DEFINITION><ATTRIBUTE-DEFINITION-INTEGER-REF>field.user_story.priority</ATTRIBUTE-DEFINITION-INTEGER-REF></DEFINITION></ATTRIBUTE-VALUE-INTEGER>
                      </VALUES>
                    </SPEC-OBJECT>
                    <SPEC-OBJECT IDENTIFIER="SHOP-AC-001" LAST-CHANGE="1970-01-01T00:00:00Z">
                      <TYPE><SPEC-OBJECT-TYPE-REF>type.acceptance_criteria</SPEC-OBJECT-TYPE-REF></TYPE>
                      <VALUES>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-AC-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.acceptance_criteria.reference_id</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-US-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.acceptance_criteria.user_story</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-XHTML><DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>field.acceptance_criteria.description</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION><THE-VALUE><xhtml:div style="white-space: pre-wrap">A link works once.</xhtml:div></THE-VALUE></ATTRIBUTE-VALUE-XHTML>
                      </VALUES>
                    </SPEC-OBJECT>
                    <SPEC-OBJECT IDENTIFIER="SHOP-REQ-001" LAST-CHANGE="1970-01-01T00:00:00Z">
                      <TYPE><SPEC-OBJECT-TYPE-REF>type.requirement</SPEC-OBJECT-TYPE-REF></TYPE>
                      <VALUES>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-REQ-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.requirement.reference_id</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-US-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.requirement.user_story</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-AC-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.requirement.acceptance_criteria</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="Functional"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.requirement.type</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="=cmd() is no formula"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.requirement.title</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-XHTML><DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>field.requirement.description</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION><THE-VALUE><xhtml:div style="white-space: pre-wrap"> begins with a blank</xhtml:div></THE-VALUE></ATTRIBUTE-VALUE-XHTML>
                      </VALUES>
                    </SPEC-OBJECT>
                    <SPEC-OBJECT IDENTIFIER="SHOP-REQ-002" LAST-CHANGE="1970-01-01T00:00:00Z">
                      <TYPE><SPEC-OBJECT-TYPE-REF>type.requirement</SPEC-OBJECT-TYPE-REF></TYPE>
                      <VALUES>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-REQ-002"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.requirement.reference_id</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-US-001"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.requirement.user_story</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="Links expire"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.requirement.title</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                      </VALUES>
                    </SPEC-OBJECT>
                    <SPEC-OBJECT IDENTIFIER="comment.6" LAST-CHANGE="1970-01-01T00:00:00Z">
                      <TYPE><SPEC-OBJECT-TYPE-REF>type.comment</SPEC-OBJECT-TYPE-REF></TYPE>
                      <VALUES>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="SHOP-REQ-002"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.comment.entity</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="ada"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.comment.author</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                        <ATTRIBUTE-VALUE-XHTML><DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>field.comment.content</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION><THE-VALUE><xhtml:div style="white-space: pre-wrap">After an hour?</xhtml:div></THE-VALUE></ATTRIBUTE-VALUE-XHTML>
                        <ATTRIBUTE-VALUE-BOOLEAN THE-VALUE="false"><DEFINITION><ATTRIBUTE-DEFINITION-BOOLEAN-REF>field.comment.resolved</ATTRIBUTE-DEFINITION-BOOLEAN-REF></DEFINITION></ATTRIBUTE-VALUE-BOOLEAN>
                      </VALUES>
                    </SPEC-OBJECT>
                  </SPEC-OBJECTS>
                  <SPEC-RELATIONS>
                    <SPEC-RELATION IDENTIFIER="relationship.7" LAST-CHANGE="1970-01-01T00:00:00Z">
                      <TYPE><SPEC-RELATION-TYPE-REF>type.relationship</SPEC-RELATION-TYPE-REF></TYPE>
                      <SOURCE><SPEC-OBJECT-REF>SHOP-REQ-002</SPEC-OBJECT-REF></SOURCE>
                      <TARGET><SPEC-OBJECT-REF>SHOP-REQ-001</SPEC-OBJECT-REF></TARGET>
                      <VALUES>
                        <ATTRIBUTE-VALUE-STRING THE-VALUE="depends_on"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>field.relationship.type</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
                      </VALUES>
                    </SPEC-RELATION>
                  </SPEC-RELATIONS>
                  <SPECIFICATIONS>
                    <SPECIFICATION IDENTIFIER="specification.requirements" LONG-NAME="Requirements" LAST-CHANGE="1970-01-01T00:00:00Z">
                      <TYPE><SPECIFICATION-TYPE-REF>type.specification</SPECIFICATION-TYPE-REF></TYPE>
                      <CHILDREN>
                        <SPEC-HIERARCHY IDENTIFIER="place.SHOP-EP-001" LAST-CHANGE="1970-01-01T00:00:00Z"><OBJECT><SPEC-OBJECT-REF>SHOP-EP-001</SPEC-OBJECT-REF></OBJECT><CHILDREN>
                          <SPEC-HIERARCHY IDENTIFIER="place.SHOP-US-001" LAST-CHANGE="1970-01-01T00:00:00Z"><OBJECT><SPEC-OBJECT-REF>SHOP-US-001</SPEC-OBJECT-REF></OBJECT><CHILDREN>
                            <SPEC-HIERARCHY IDENTIFIER="place.SHOP-AC-001" LAST-CHANGE="1970-01-01T00:00:00Z"><OBJECT><SPEC-OBJECT-REF>SHOP-AC-001</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
                            <SPEC-HIERARCHY IDENTIFIER="place.SHOP-REQ-001" LAST-CHANGE="1970-01-01T00:00:00Z"><OBJECT><SPEC-OBJECT-REF>SHOP-REQ-001</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
                            <SPEC-HIERARCHY IDENTIFIER="place.SHOP-REQ-002" LAST-CHANGE="1970-01-01T00:00:00Z"><OBJECT><SPEC-OBJECT-REF>SHOP-REQ-002</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
                          </CHILDREN></SPEC-HIERARCHY>
                        </CHILDREN></SPEC-HIERARCHY>
                      </CHILDREN>
                    </SPECIFICATION>
                  </SPECIFICATIONS>
                </REQ-IF-CONTENT>
              </CORE-CONTENT>
            </REQ-IF>
        "#]],
    );
}

fn small_project() -> Vec<Record> {
    let time = "2026-11-15T08:00:00.123456Z";
    vec![
        Record::new(RecordKind::Project).with("key", "SHOP").with("name", "Web shop"),
        Record::new(RecordKind::Epic)
            .with("reference_id", "SHOP-EP-001")
            .with("title", "Sign in")
            .with("description", "Customers sign in:\n\n- with a password\n- with a \"magic\" link")
            .with("priority", 2)
            .with("status", "In Progress")
            .with("updated_at", time),
        Record::new(RecordKind::UserStory)
            .with("reference_id", "SHOP-US-001")
            .with("epic", "SHOP-EP-001")
            .with("title", "Пароль: сброс")
            .with("priority", 1),
        Record::new(RecordKind::AcceptanceCriteria)
            .with("reference_id", "SHOP-AC-001")
            .with("user_story", "SHOP-US-001")
            .with("description", "A link works once."),
        Record::new(RecordKind::Requirement)
            .with("reference_id", "SHOP-REQ-001")
            .with("user_story", "SHOP-US-001")
            .with("acceptance_criteria", "SHOP-AC-001")
            .with("type", "Functional")
            .with("title", "=cmd() is no formula")
            .with("description", " begins with a blank"),
        Record::new(RecordKind::Requirement)
            .with("reference_id", "SHOP-REQ-002")
            .with("user_story", "SHOP-US-001")
            .with("title", "Links expire"),
        Record::new(RecordKind::Comment)
            .with("entity", "SHOP-REQ-002")
            .with("author", "ada")
            .with("content", "After an hour?")
            .with("resolved", false),
        Record::new(RecordKind::Relationship)
            .with("source", "SHOP-REQ-002")
            .with("target", "SHOP-REQ-001")
            .with("type", "depends_on"),
    ]
}

#[track_caller]
fn check(format: Format, expected: Expect) {
    let bytes = written(format, small_project());
    let reading = read(format, &bytes);
    assert_eq!(reading.problems, []);
    assert_eq!(reading.records, small_project());
    let text = String::from_utf8(bytes).expect("text");
    let text = if format == Format::Reqif { without_most_types(&text) } else { text };
    expected.assert_eq(&text);
}

/// There is a type for each kind, and they are all alike.
fn without_most_types(text: &str) -> String {
    let (before, rest) = text.split_once("        <SPEC-OBJECT-TYPE").expect("types");
    let (types, after) = rest.split_once("      </SPEC-TYPES>").expect("the end of the types");
    let (_, story) =
        types.split_once("        <SPEC-OBJECT-TYPE IDENTIFIER=\"type.user_story\"").expect("stories");
    let (story, _) = story.split_once("        <SPEC-OBJECT-TYPE").expect("the next type");
    format!(
        "{before}        …\n        <SPEC-OBJECT-TYPE IDENTIFIER=\"type.user_story\"{story}        …\n      </SPEC-TYPES>{after}"
    )
}
