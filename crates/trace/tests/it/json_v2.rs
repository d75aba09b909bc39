//! The JSON report of the second form.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::Value;
use trace::project::{Options, Project};
use trace::report::{Report, json_v2};

const SPECIFICATION: &str = "# Pot\n\n## Brewing\n\nA pot MUST brew\ncoffee. It MAY whistle.\n\n## Empty\n";

#[test]
fn a_requirement_has_the_pieces_that_each_citation_covers() {
    check(
        &[("pot.md", SPECIFICATION), ("src/pot.rs", "//= pot.md#brewing\n//# MUST brew coffee.\n")],
        "[[specification]]\nsource = 'pot.md'",
        expect![[r##"
            {
              "version": "2.0",
              "sources": {
                "https://awslabs.github.io/duvet/v2/sources.json#inline": {
                  "src-05b46de213e07e95": {
                    "file_name": "pot.md",
                    "contents": "# Pot\n\n## Brewing\n\nA pot MUST brew\ncoffee. It MAY whistle.\n\n## Empty\n"
                  }
                },
                "https://awslabs.github.io/duvet/v2/sources.json#linked": {
                  "lnk-48f998915855a6b2": {
                    "file_name": "src/pot.rs"
                  },
                  "lnk-e6417b8266165f1f": {
                    "file_name": ".duvet/requirements/pot/brewing.toml"
                  }
                }
              },
              "annotations": {
                "https://awslabs.github.io/duvet/v2/annotations.json#specification": {
                  "spc-b2d1c364faaf9464": {
                    "source": {
                      "src": "src-05b46de213e07e95",
                      "start": 0,
                      "end": 69
                    },
                    "title": "Pot",
                    "format": "markdown"
                  }
                },
                "https://awslabs.github.io/duvet/v2/annotations.json#section": {
                  "sec-57df1391a1a24212": {
                    "source": {
                      "src": "src-05b46de213e07e95",
                      "start": 2,
                      "end": 5
                    },
                    "short_name": "pot",
                    "long_name": "Pot"
                  },
                  "sec-a3c6af16d30f5d30": {
                    "source": {
                      "src": "src-05b46de213e07e95",
                      "start": 63,
                      "end": 68
                    },
                    "short_name": "empty",
                    "long_name": "Empty"
                  },
                  "sec-a88e20fa9c27c11d": {
                    "source": {
                      "src": "src-05b46de213e07e95",
                      "start": 10,
                      "end": 58
                    },
                    "short_name": "brewing",
                    "long_name": "Brewing"
                  }
                },
                "https://awslabs.github.io/duvet/v2/annotations.json#requirement": {
                  "req-155516e3c18ece49": {
                    "source": {
                      "src": "lnk-e6417b8266165f1f",
                      "line": 15
                    },
                    "origin": {
                      "src": "src-05b46de213e07e95",
                      "ranges": [
                        {
                          "start": 43,
                          "end": 58
                        }
                      ]
                    },
                    "level": "MAY"
                  },
                  "req-bf3424ab195e922e": {
                    "source": {
                      "src": "lnk-e6417b8266165f1f",
                      "line": 8
                    },
                    "origin": {
                      "src": "src-05b46de213e07e95",
                      "ranges": [
                        {
                          "start": 19,
                          "end": 34
                        },
                        {
                          "start": 35,
                          "end": 42
                        }
                      ]
                    },
                    "level": "MUST",
                    "coverage": {
                      "cite-ba951943e8e6918c": [
                        {
                          "start": 25,
                          "end": 34
                        },
                        {
                          "start": 35,
                          "end": 42
                        }
                      ]
                    }
                  }
                },
                "https://awslabs.github.io/duvet/v2/annotations.json#cite": {
                  "cite-ba951943e8e6918c": {
                    "source": {
                      "src": "lnk-48f998915855a6b2",
                      "line": 1
                    },
                    "target": {
                      "src": "src-05b46de213e07e95",
                      "ranges": [
                        {
                          "start": 25,
                          "end": 34
                        },
                        {
                          "start": 35,
                          "end": 42
                        }
                      ]
                    },
                    "type": "CITATION",
                    "level": "AUTO"
                  }
                }
              }
            }"##]],
    );
}

#[test]
fn files_are_linked_to_their_own_repository_or_that_of_the_project() {
    check_parts(
        &[
            ("pot.md", SPECIFICATION),
            ("src/pot.rs", "//= pot.md#brewing\n"),
            ("lib/cup.rs", "//= pot.md#brewing\n//# coffee.\n"),
        ],
        "[[source]]\npattern = 'lib/*.rs'\nblob-link = 'https://cups.example'\n\
         [report.html]\nblob-link = 'https://pots.example'\nissue-link = 'https://issues.example'",
        &["/issue_links", "/repositories", "/S#linked"],
        expect![[r#"
            /issue_links ["https://issues.example"]
            /repositories {"repo-0f6af580f45bd5f6":{"blob_link":"https://pots.example"},"repo-43a73b8e02c7f1cf":{"blob_link":"https://cups.example"}}
            /S#linked {"lnk-3566c11f70018841":{"file_name":"src/pot.rs","repository":"repo-0f6af580f45bd5f6"},"lnk-885c394aae132018":{"file_name":"lib/cup.rs","repository":"repo-43a73b8e02c7f1cf"}}
        "#]],
    );
}

#[test]
fn todos_keep_what_they_say() {
    check_parts(
        &[
            ("pot.md", "# Pot\nIt MAY whistle.\n"),
            (
                ".duvet/todos/pot.toml",
                "target = 'pot.md#pot'\n[[todo]]\nquote = 'It MAY whistle.'\nfeature = 'sound'\n\
                 tracking-issue = '7'\nreason = 'no whistle'\ntags = ['loud', 'late']\n",
            ),
        ],
        "",
        &["/A#cite"],
        expect![[r#"
            /A#cite {"cite-eb874aea54774cbe":{"source":{"src":"lnk-9c158fd854065895","line":2},"target":{"src":"src-7b9a9cda86be5873","ranges":[{"start":6,"end":21}]},"type":"TODO","level":"AUTO","comment":"no whistle","feature":"sound","tracking_issue":"7","tags":["late","loud"]}}
        "#]],
    );
}

#[test]
fn a_text_under_two_names_is_one_text_with_the_first_name() {
    check_parts(
        &[
            ("b.md", "# Pot\nIt MAY whistle.\n"),
            ("a.md", "# Pot\nIt MAY whistle.\n"),
            ("src/pot.rs", "//= b.md#pot\n//# It MAY\n\n//= a.md#pot\n//# whistle.\n"),
        ],
        "",
        &["/S#inline", "/A#specification", "/A#cite"],
        expect![[r##"
            /S#inline {"src-7b9a9cda86be5873":{"file_name":"a.md","contents":"# Pot\nIt MAY whistle.\n"}}
            /A#specification {"spc-86332fd21b04d2f8":{"source":{"src":"src-7b9a9cda86be5873","start":0,"end":22},"title":"Pot","format":"markdown"}}
            /A#cite {"cite-6b0de26d678330d2":{"source":{"src":"lnk-48f998915855a6b2","line":4},"target":{"src":"src-7b9a9cda86be5873","ranges":[{"start":13,"end":21}]},"type":"CITATION","level":"AUTO"},"cite-e27aeaf5f3c12beb":{"source":{"src":"lnk-48f998915855a6b2","line":1},"target":{"src":"src-7b9a9cda86be5873","ranges":[{"start":6,"end":12}]},"type":"CITATION","level":"AUTO"}}
        "##]],
    );
}

/// Compares all of a report.
#[track_caller]
fn check(files: &[(&str, &str)], config: &str, expected: Expect) {
    expected.assert_eq(&report(files, config));
}

/// Compares parts of a report, named by pointers in which `S` and `A` stand for the long names.
#[track_caller]
fn check_parts(files: &[(&str, &str)], config: &str, pointers: &[&str], expected: Expect) {
    let report: Value = serde_json::from_str(&report(files, config)).expect("JSON");
    let part = |pointer: &&str| {
        let schema = "https:~1~1awslabs.github.io~1duvet~1v2~1";
        let long = pointer.replace("/S#", &format!("/sources/{schema}sources.json#"));
        let long = long.replace("/A#", &format!("/annotations/{schema}annotations.json#"));
        let value = report.pointer(&long).unwrap_or_else(|| panic!("no {pointer} in {report:#}"));
        format!("{pointer} {value}\n")
    };
    expected.assert_eq(&pointers.iter().map(part).collect::<String>());
}

fn report(files: &[(&str, &str)], config: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = "[[source]]\npattern = 'src/*.rs'";
    let config = format!("'$schema' = '{}'\n{sources}\n{config}\n", trace::config::SCHEMA);
    for (path, text) in files.iter().chain([&(".duvet/config.toml", &*config)]) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let options = Options { root: folder.path().to_owned(), ..Options::default() };
    let loaded = Project::open(options, &|_| None).expect("a project").load(None, &mut |_, _| {});
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics());
    let mut json = Vec::new();
    json_v2::write(&Report::of(&loaded), &mut json).expect("memory");
    String::from_utf8(json).expect("UTF-8")
}
