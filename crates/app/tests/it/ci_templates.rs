//! The GitHub action and the GitLab template: their scripts run unchanged, with the real programs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::gate::{CODE, Checkout, PROJECT, STALE, TEST};
use crate::process::clean;

const DUVET: &str = "'$schema' = 'https://awslabs.github.io/duvet/config/v0.4.0.json'\n\
    [[source]]\npattern = 'kiosk/*.py'\ncomment-style = { meta = '##=', content = '##%' }\n\
    [[specification]]\nsource = 'card.md'\n[report.html]\nenabled = false\n";
const CARD: &str = "# Card\n\n* A number MUST have 13 digits.\n";
const CITED: &str = "##= card.md#card\n##% A number MUST have 13 digits.\n";

#[test]
fn the_action_passes_a_change_that_is_fine_and_fails_one_that_is_worse() {
    let project = Project::new();
    let github = Github::new(&project);
    assert_eq!(github.run(&[]), [("install", 0), ("duvet", 0), ("spexus", 0)]);
    assert_eq!(
        fs::read_to_string(github.summary()).expect("a summary"),
        project.read("spexus-reports/spexus.md")
    );
    // The second check runs although the first has failed, and the other way round it would not be needed.
    assert_eq!(
        github.run(&[("duvet-arguments", "--require-citations --require-tests")]),
        [("install", 0), ("duvet", 1), ("spexus", 0)]
    );
    assert!(project.read("spexus-reports/duvet.sarif").contains("is not tested"));
    project.checkout.write("src/old.rs", STALE);
    assert_eq!(github.run(&[("spexus", "false")]), [("install", 0), ("duvet", 1)]);
    assert_eq!(github.run(&[("duvet", "false")]), [("install", 0), ("spexus", 1)]);
    assert!(project.read("spexus-reports/spexus.sarif").contains("stale-citation"));
    assert!(project.read("spexus-reports/spexus.md").starts_with("<!-- spexus-check -->"));
    // What was downloaded is not what it was said to be.
    assert_eq!(github.run(&[("sha256", &"0".repeat(64))]), [("install", 1)]);
}

#[test]
fn the_jobs_for_gitlab_pass_a_change_that_is_fine_and_fail_one_that_is_worse() {
    let project = Project::new();
    assert_eq!(gitlab(&project, ""), [("duvet-check", 0), ("spexus-check", 0)]);
    assert_eq!(
        gitlab(&project, "--require-citations --require-tests"),
        [("duvet-check", 1), ("spexus-check", 0)]
    );
    assert!(project.read("duvet-check.xml").contains("is not tested"));
    project.checkout.write("src/old.rs", STALE);
    assert_eq!(gitlab(&project, ""), [("duvet-check", 1), ("spexus-check", 1)]);
    assert!(project.read("spexus-check.xml").contains("stale-citation"));
    assert!(project.read("spexus.md").starts_with("<!-- spexus-check -->"));
}

/// A checkout with citations of both kinds, and an archive with the programs.
struct Project {
    checkout: Checkout,
    archive: PathBuf,
    _folder: TempDir,
}

impl Project {
    fn new() -> Project {
        let checkout = Checkout::with(&[
            (".spexus/project.toml", PROJECT),
            ("src/lib.rs", CODE),
            ("tests/kettle.rs", TEST),
            (".duvet/config.toml", DUVET),
            ("card.md", CARD),
            ("kiosk/a.py", CITED),
        ]);
        checkout.spexus(&["pull"]);
        checkout.commit("Pull");
        let folder = tempfile::tempdir().expect("a folder");
        let programs = folder.path().join("spexus-0-x86_64-linux/bin");
        fs::create_dir_all(&programs).expect("a folder");
        for program in [env!("CARGO_BIN_EXE_spexus"), env!("CARGO_BIN_EXE_duvet")] {
            symlink(program, programs.join(Path::new(program).file_name().expect("a name"))).expect("a link");
        }
        let archive = folder.path().join("spexus-0-x86_64-linux.tar.gz");
        let mut tar = Command::new("tar");
        tar.args(["-czf"]).arg(&archive).arg("-C").arg(folder.path()).arg("spexus-0-x86_64-linux");
        assert!(tar.status().expect("tar runs").success());
        Project { checkout, archive, _folder: folder }
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.checkout.root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn archive_url(&self) -> String {
        format!("file://{}", self.archive.display())
    }

    fn sha256(&self) -> String {
        let output = Command::new("sha256sum").arg(&self.archive).output().expect("sha256sum runs");
        String::from_utf8_lossy(&output.stdout).chars().take(64).collect()
    }

    fn base(&self) -> String {
        self.checkout.git(&["rev-parse", "HEAD"])
    }

    /// Runs a script as a CI system does, and returns its exit code.
    fn run(&self, script: &str, path: &str, environment: &[(String, String)]) -> i32 {
        let (home, data) = (self.checkout.root().display().to_string(), self.checkout.root().join("data"));
        let data = data.display().to_string();
        let path = format!("{path}{}", std::env::var("PATH").expect("a path"));
        let fixed = [("HOME", home.as_str()), ("XDG_DATA_HOME", data.as_str()), ("PATH", path.as_str())];
        let mut bash = clean(Command::new("bash"), &fixed);
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .envs(environment.iter().cloned());
        let output = bash.current_dir(self.checkout.root()).stdin(Stdio::null()).output().expect("bash runs");
        // Wrong usage would be a 2, and a missing program a 127.
        let code = output.status.code().unwrap_or(-1);
        assert!(matches!(code, 0 | 1), "{code}: {script}\n{}", String::from_utf8_lossy(&output.stderr));
        code
    }
}

/// A runner of GitHub.
struct Github<'a> {
    project: &'a Project,
    runner: TempDir,
    action: Value,
}

impl<'a> Github<'a> {
    fn new(project: &'a Project) -> Github<'a> {
        let runner = tempfile::tempdir().expect("a folder");
        Github { project, runner, action: yaml("integrations/github/action.yml") }
    }

    fn summary(&self) -> PathBuf {
        self.runner.path().join("summary")
    }

    /// Runs the steps with some inputs; returns which ran, and how they ended.
    fn run(&self, inputs: &[(&str, &str)]) -> Vec<(&'static str, i32)> {
        let mut given: BTreeMap<&str, String> = BTreeMap::new();
        for (name, input) in self.action["inputs"].as_object().expect("inputs") {
            given.insert(name, input["default"].as_str().expect("a default").to_owned());
        }
        let base = given.get_mut("base").expect("an input");
        *base = base.replace("${{ github.event.pull_request.base.sha }}", &self.project.base());
        given.insert("archive", self.project.archive_url());
        given.insert("sha256", self.project.sha256());
        for (name, value) in inputs {
            assert!(given.insert(name, (*value).to_owned()).is_some(), "{name} is not an input");
        }
        let file = |name: &str| self.runner.path().join(name).display().to_string();
        for name in ["path", "summary"] {
            fs::write(file(name), "").expect("a file");
        }
        let mut done = Vec::new();
        for step in self.action["runs"]["steps"].as_array().expect("steps") {
            let failed = done.iter().any(|(_, code)| *code != 0);
            if !is_run(step["if"].as_str().expect("a condition"), &given, failed) {
                continue;
            }
            let mut environment: Vec<(String, String)> = vec![
                ("RUNNER_TEMP".to_owned(), self.runner.path().display().to_string()),
                ("GITHUB_PATH".to_owned(), file("path")),
                ("GITHUB_STEP_SUMMARY".to_owned(), file("summary")),
            ];
            for (name, value) in step["env"].as_object().expect("an environment") {
                environment.push((name.clone(), expanded(value.as_str().expect("text"), &given)));
            }
            let script = step["run"].as_str().expect("a script");
            // What is put into a script by the runner could be a script itself.
            assert!(!script.contains("${{"), "{script}");
            let path = fs::read_to_string(file("path")).expect("a file").replace('\n', ":");
            let code = self.project.run(script, &path, &environment);
            let name = ["install", "duvet", "spexus"].into_iter().find(|name| {
                script.contains(&format!("{name} check")) || *name == "install" && script.contains("curl")
            });
            done.push((name.expect("a known step"), code));
            // Without programs the rest has nothing to say.
            if code != 0 && name == Some("install") {
                break;
            }
        }
        done
    }
}

/// Whether a step runs. Without `cancelled()` or its like, one that fails ends the job.
fn is_run(condition: &str, inputs: &BTreeMap<&str, String>, failed: bool) -> bool {
    let condition = condition.trim_start_matches("${{ ").trim_end_matches(" }}");
    let clauses: Vec<&str> = condition.split(" && ").collect();
    let holds = |clause: &&str| {
        if *clause == "!cancelled()" {
            return true;
        }
        let parts: Vec<&str> = clause.split(' ').collect();
        let [input, operator, value] = parts[..] else { panic!("{clause} is not understood here") };
        let input = &inputs[input.strip_prefix("inputs.").expect("an input")];
        match operator {
            "==" => input == value.trim_matches('\''),
            "!=" => input != value.trim_matches('\''),
            _ => panic!("{clause} is not understood here"),
        }
    };
    (!failed || clauses.contains(&"!cancelled()")) && clauses.iter().all(holds)
}

fn expanded(text: &str, inputs: &BTreeMap<&str, String>) -> String {
    match text.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}")) {
        Some(name) => inputs[name].clone(),
        None => panic!("{text} is not understood here"),
    }
}

/// Runs the jobs of a merge request; returns how they ended.
fn gitlab(project: &Project, arguments: &str) -> Vec<(&'static str, i32)> {
    let template = yaml("integrations/gitlab/spexus.yml");
    let lines = |lines: &Value| -> Vec<String> {
        lines.as_array().expect("lines").iter().map(|line| line.as_str().expect("text").to_owned()).collect()
    };
    let variables = [
        ("SPEXUS_ARCHIVE", project.archive_url()),
        ("SPEXUS_ARCHIVE_SHA256", project.sha256()),
        ("DUVET_CHECK_ARGUMENTS", arguments.to_owned()),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", project.base()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let jobs = ["duvet-check", "spexus-check"];
    let n_jobs = template.as_object().expect("jobs").keys().filter(|name| !name.starts_with('.')).count();
    assert_eq!(n_jobs, jobs.len());
    let run = |name: &'static str| {
        let job = &template[name];
        assert_eq!(job["extends"], ".spexus");
        let script =
            [lines(&template[".spexus"]["before_script"]), lines(&job["script"])].concat().join("\n");
        let code = project.run(&script, "", &variables);
        for report in job["artifacts"]["reports"].as_object().expect("reports").values() {
            assert!(!project.read(report.as_str().expect("a path")).is_empty());
        }
        (name, code)
    };
    jobs.map(run).to_vec()
}

fn yaml(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let text = fs::read_to_string(&path).expect("a template");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
