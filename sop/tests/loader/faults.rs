//! What is wrong with a file, and how that is told.

use std::path::Path;

use agenthub_sop::{Severity, load, parse};

use crate::common::{faults, folder, read, told, with};

/// The files that people get wrong, each with what is told.
fn rendered(cases: &[&str]) -> String {
    let rendered = cases.iter().map(|text| {
        let found = faults(text);
        assert!(!found.is_empty(), "nothing is wrong with {text:?}");
        let rendered: Vec<String> = found.iter().map(|fault| fault.rendered(false)).collect();
        rendered.join("")
    });
    rendered.collect::<Vec<_>>().join("\n= = =\n\n")
}

/// spec: SOP-2.1, SOP-2.2
#[test]
fn a_name_and_a_description_are_required() {
    insta::assert_snapshot!(rendered(&[
        "---\ntype: agent\n---\nDo it.\n",
        "---\nname:\ndescription: \"  \"\n---\nDo it.\n",
        "---\nname: [a, b]\ndescription: 5\n---\nDo it.\n",
        "---\nnmae: a\ndescripton: Does it.\n---\nDo it.\n",
        "---\nname: health\ndescription: x\n---\nDo it.\n",
        "---\nname: a\ndescription: #1 writer\n---\nDo it.\n",
        "---\nname: ../../etc/passwd\ndescription: x\n---\nDo it.\n",
        "---\nname: 'a\n---\nDo it.\n",
        "---\n---\n",
        "Just text.\n",
        "",
    ]));
}

/// spec: SOP-2.4
#[test]
fn a_type_that_does_not_exist_is_told_with_those_that_do() {
    insta::assert_snapshot!(rendered(&[
        &with("type: orchestrater\n"),
        &with("type: 5\n"),
        &with("type: worker\n"),
    ]));
}

/// spec: SOP-2.6
#[test]
fn what_is_no_yaml_is_told_with_its_place_and_in_plain_words() {
    insta::assert_snapshot!(rendered(&[
        "---\nname: a\ndescription: Does this: and that\n---\nx\n",
        "---\nname: a\n\tdescription: x\n---\nx\n",
        "---\nname: a\ndescription: x\ninputs:\n\ttopic:\n\t\ttype: string\n---\nx\n",
        "---\nname: a\ndescription: x\ntools:\n\t- x\n---\nx\n",
        "---\nname: a\ndescription: x\ninputs:\n  topic:\n\t  type: string\n---\nx\n",
        "---\nname: a\ndescription: \"He says \"hi\" to you\"\n---\nx\n",
        "---\nname: a\ndescription: 'not closed\n---\nx\n",
        "---\nname: a\ntools: [x, y\ndescription: x\n---\nx\n",
        "---\nname: @a\n---\nx\n",
        "---\nname: a\ndescription: *very* good\n---\nx\n",
        "---\nname: a\n  description: x\n---\nx\n",
        "---\nname:a\ndescription:x\n---\nx\n",
        "---\nname: a\n- x\n---\nx\n",
        "---\n- a\n---\nx\n",
        "---\nname: a\ndescription: x\n",
        "\n---\nname: a\n---\nx\n",
        "---\n~: a\n---\nx\n",
        "---\nname: a\n...\nname: b\n---\nx\n",
    ]));
}

/// Settled conflict 6: nothing is guessed.
///
/// spec: SOP-3.4, SOP-3.7
#[test]
fn inputs_that_cannot_be_are_told() {
    insta::assert_snapshot!(rendered(&[
        &with("inputs: [topic]\n"),
        &with("inputs:\n  topic: string\n  other:\n  third: some words\n"),
        &with(
            "inputs:\n  a: {}\n  b: {values: [x]}\n  c: {type: text}\n  d: {type: strnig}\n  e: {type: date}\n"
        ),
        &with(
            "inputs:\n  a: {type: enum}\n  b: {type: enum, values: []}\n  c: {type: enum, values: x}\n  d: {type: enum, values: [x, x, [y]]}\n"
        ),
        &with(
            "inputs:\n  a: {type: enum, values: [x, y], default: z}\n  b: {type: number, default: \"3\"}\n  c: {type: boolean, default: yes}\n  d: {type: string, default: 3}\n  e: {type: list, default: x}\n  f: {type: list, default: [1]}\n  g: {type: string, default: }\n"
        ),
        &with(
            "inputs:\n  task: {type: string}\n  \"my topic\": {type: string}\n  a: {type: string, values: [x]}\n  a: {type: number}\n"
        ),
        &with(
            "inputs:\n  a: {type: string, requird: false}\n  b: {type: string, required: maybe}\n  c: {type: string, type: number}\n"
        ),
    ]));
}

/// spec: SOP-1.2
#[test]
fn fields_of_other_types_are_told() {
    insta::assert_snapshot!(rendered(&[
        &with("tools: search, files.read\n"),
        &with("tools: [a, a, 5, [b]]\n"),
        &with("version: [1]\n"),
        &with("temperature: hot\nturns: 1.5\nerror_mode: fail-slow\nmodel: 4\n"),
        &with("temperature: 3\nturns: 0\nerrorMode: continue\ncolour: blue\n"),
        &with("name: a\n"),
    ]));
}

/// All faults of a file are told at once, in the order of the file.
///
/// spec: SOP-1.2
#[test]
fn all_faults_are_told_at_once() {
    let found =
        faults("---\ntype: boss\ninputs:\n  a: {type: x}\n  b: {type: enum}\ncolour: red\n---\n");
    insta::assert_snapshot!(told(&found));
}

/// spec: SOP-2.3
#[test]
fn a_name_that_is_not_that_of_the_file_is_a_warning() {
    let text = "---\nname: other\ndescription: x\n---\nDo it.\n";
    let loaded = read(text).expect("it can be used");
    assert_eq!(
        told(&loaded.warnings),
        "warning: a.md:2:7: the name is `other`, but the file is called `a`"
    );
    let same = parse(Path::new("dir/other.md"), text, Vec::new()).expect("it can be used");
    assert_eq!(same.warnings, []);
}

#[test]
fn an_empty_body_and_a_long_description_are_warnings() {
    let text = format!(
        "---\nname: a\ndescription: {}\n---\n\n",
        "word ".repeat(300)
    );
    let loaded = read(&text).expect("it can be used");
    insta::assert_snapshot!(told(&loaded.warnings));
    let huge = read(&text.replace("word ", &"word ".repeat(50))).expect_err("no card holds it");
    assert!(told(&huge).contains("more than 48 KiB"), "{}", told(&huge));
}

/// spec: SOP-1.5
#[test]
fn a_file_that_cannot_be_read_is_told_with_its_path_and_why() {
    let folder = folder(&[("a.txt", "x"), ("dir/b.md", "x")]);
    let told = |name: &str| {
        let path = folder.path().join(name);
        let found = load(&path).expect_err(name);
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].path, path);
        found[0]
            .rendered(false)
            .replace(&*folder.path().to_string_lossy(), "DIR")
    };
    std::fs::write(folder.path().join("binary.md"), b"---\nname: a\xff\n---\n").expect("written");
    std::fs::write(folder.path().join("wide.md"), b"\xff\xfe-\0-\0-\0").expect("written");
    std::fs::write(folder.path().join("large.md"), vec![b'x'; 256 * 1024 + 1]).expect("written");
    #[cfg(unix)]
    std::os::unix::fs::symlink("gone.md", folder.path().join("link.md")).expect("linked");
    #[cfg(not(unix))]
    return;
    let all = [
        "link.md",
        "none.md",
        "a.txt",
        "dir",
        "binary.md",
        "wide.md",
        "large.md",
    ]
    .map(told);
    insta::assert_snapshot!(all.join(""));
}

#[test]
fn a_mark_at_the_beginning_and_other_line_ends_change_nothing_but_the_digest() {
    let text = with("inputs:\n  x: {type: string}\n");
    let plain = read(&text).expect("it is right").definition;
    for other in [
        format!("\u{feff}{text}"),
        text.replace('\n', "\r\n"),
        text.replace('\n', "\r"),
    ] {
        let mut read = read(&other).expect("it is right").definition;
        assert_ne!(read.digest, plain.digest);
        read.digest.clone_from(&plain.digest);
        assert_eq!(read, plain);
    }
    let found = faults("\u{feff}---\r\nname: a\r\ntype: x\r\ndescription: y\r\n---\r\nz\r\n");
    assert!(
        told(&found).starts_with("error: a.md:3:7: "),
        "{}",
        told(&found)
    );
}

#[test]
fn a_fault_is_data_as_well() {
    let found = faults(&with("type: boss\n"));
    insta::assert_json_snapshot!(found);
    assert_eq!(found[0].severity, Severity::Error);
    let coloured = found[0].rendered(true);
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    assert!(!found[0].rendered(false).contains('\u{1b}'));
}
