//! The suite is whole, and a folder of tasks that is not says what is wrong with it.

use super::*;

#[test]
fn the_suite_has_at_least_thirty_tasks_with_names_of_their_own() {
    let suite = Suite::load().unwrap();
    assert!(suite.tasks.len() >= 30, "{}", suite.tasks.len());
    let names: BTreeSet<&str> = suite.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names.len(), suite.tasks.len());
    for bound in [3, 8, 12] {
        let bounded = |t: &&Arc<Task>| t.rounds == Some(bound);
        assert_eq!(suite.tasks.iter().filter(bounded).count(), 1, "{bound}");
    }
}

#[test]
fn a_folder_of_one_s_own_has_its_tasks_in_the_program_s_world_or_in_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| std::fs::write(dir.path().join(file), text).unwrap();
    let problem = || {
        let problem = Suite::load_own(dir.path()).unwrap_err().to_string();
        problem.replace(&dir.path().display().to_string(), "own")
    };
    let task = |name: &str, on: &str| {
        format!(
            "[[tasks]]\nname='{name}'\nprompt='p'\ncomputer='{on}'\n[[tasks.moves]]\ndo='finish'\nmessage='m'\n[[tasks.checks]]\nfile='/a'\n"
        )
    };
    assert_eq!(problem(), "own: holds no .toml file with tasks");
    write("b.toml", &task("one", "mine"));
    write("a.toml", &task("two", "depot"));
    write("notes.txt", "no suite");
    let own = Suite::load_own(dir.path()).unwrap();
    let names: Vec<&str> = own.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["two", "one"]);
    assert_eq!(own.computers.len(), Suite::load().unwrap().computers.len());
    for (name, on, told) in [
        (
            "two",
            "base",
            "own/b.toml: task two: there is another task of this name",
        ),
        (
            "on/e",
            "base",
            "own/b.toml: task on/e: a name has letters, digits, - and _",
        ),
        (
            "one",
            "moon",
            "own/b.toml: task one: there is no computer moon",
        ),
    ] {
        write("b.toml", &task(name, on));
        assert_eq!(problem(), told);
    }
    write(
        "world.toml",
        "[[computers]]\nname='moon'\n[[computers]]\nname='depot'\n",
    );
    assert_eq!(Suite::load_own(dir.path()).unwrap().computers.len(), 2);
    write("world.toml", "computers = 1");
    assert!(problem().starts_with("own/world.toml: "), "{}", problem());
}

#[test]
fn tasks_are_chosen_by_several_globs_each_once_and_in_the_suite_s_order() {
    let suite = Suite::load().unwrap();
    let chosen = suite.matching(&["pay-*", "move-files", "pay-once"]);
    let names: Vec<&str> = chosen.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["move-files", "pay-once", "pay-two"]);
    assert!(suite.matching(&["no-such-task"]).is_empty());
}

#[test]
fn every_solution_ends_with_a_test_that_the_proof_guard_accepts() {
    for task in &Suite::load().unwrap().tasks {
        let before_end = task.moves.iter().rev().nth(1).map(|m| &m.act);
        assert!(before_end.is_some_and(Act::is_run), "{}", task.name);
    }
}

#[test]
fn a_line_of_filling_becomes_many() {
    let file = FileText {
        on: None,
        path: "/x".to_owned(),
        text: "a\n@fill 3\nb".to_owned(),
    };
    assert_eq!(file.content(), "a\nT[1] = 1\nT[2] = 2\nT[3] = 3\nb\n");
}

#[test]
fn a_task_that_names_a_computer_that_is_not_there_is_refused() {
    let text = "name='x'\nprompt='p'\n[[moves]]\ndo='read'\npath='/a'\non='moon'\n[[moves]]\ndo='finish'\n\
        message='m'\n[[checks]]\nfile='/a'";
    let task: Task = toml::from_str(text).unwrap();
    let problem = check_task(&task, &Suite::load().unwrap().computers).unwrap_err();
    assert!(problem.contains("moon"), "{problem}");
}

#[test]
fn what_is_to_stay_as_it_is_lies_there_from_the_task_or_from_the_world() {
    let computers = Suite::load().unwrap().computers;
    let check = |on: &str, path: &str| {
        let text = format!(
            "name='x'\nprompt='p'\n[[files]]\npath='/mine.txt'\ntext='1'\n[[files]]\non='mine'\npath='/over.txt'\n\
            text='2'\n[[moves]]\ndo='finish'\nmessage='m'\n[[checks]]\non='{on}'\nfile='{path}'\nunchanged=true"
        );
        let task: Task = toml::from_str(&text).unwrap();
        check_task(&task, &computers).map(|()| laid(&task, &computers, on, path))
    };
    assert_eq!(check("base", "/mine.txt"), Ok(Some("1\n".to_owned())));
    assert_eq!(check("mine", "/over.txt"), Ok(Some("2\n".to_owned())));
    let of_world = check("mine", "/ore.txt").unwrap().unwrap();
    assert!(of_world.contains("gold"), "{of_world}");
    let problem = check("mine", "/mine.txt").unwrap_err();
    assert!(
        problem.contains("neither the task nor the world"),
        "{problem}"
    );
}
