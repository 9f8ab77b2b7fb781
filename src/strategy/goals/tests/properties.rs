//! What holds whatever a model says and a computer does.

use super::*;

fn any_said() -> impl Strategy<Value = ChatAnswer> {
    let said = prop_oneof![
        3 => Just(HELLO.to_owned()),
        2 => Just(TWO.to_owned()),
        4 => Just(write("/hello.lua", "print('hello')")),
        2 => Just(write("/other.lua", "error()")),
        3 => Just(run("/hello.lua")),
        4 => Just(mark(true)),
        1 => Just(mark(false)),
        1 => Just(call(MARK_TOOL, json!({}))),
        1 => Just(call("fs_list", json!({}))),
        1 => Just(call("fs_raed", json!({"path": "/x"}))),
        1 => Just(call("ask_user", json!({"question": "a?", "why": "b"}))),
        1 => Just("{\"tool\": \"fs_read\", \"args\": {\"pa".to_owned()),
        2 => "[a-zA-Z :{}\"\n]{0,60}",
    ];
    let native = prop::collection::vec(
        prop_oneof![
            Just(("fs_write", json!({"path": "/a/hello.lua", "content": "x"}))),
            Just((MARK_TOOL, json!({"success": "true"}))),
            Just(("fs_read", json!(["x"]))),
        ],
        1..12,
    );
    prop_oneof![
        4 => said.prop_map(|text| answer(&text)),
        1 => native.prop_map(|made| calls(&made)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_model_and_any_computer_lead_to_an_end_within_the_budgets(
        said in prop::collection::vec(any_said(), 1..40),
        ends in prop::collection::vec(0u8..6, 1..20),
        (proof, verify) in any::<(bool, bool)>(),
        rounds in 1u32..16,
        mends in 0u32..4,
    ) {
        let mut profile = profile_of(NAME);
        profile.executor_mends = mends;
        profile.demand_proof = proof;
        profile.goals.verify_files = verify;
        profile.goals.rounds = rounds;
        profile.budgets.steps = 24;
        let mut drive = Drive::new(profile, "Write a program that says hello");
        let (mut said, mut ends) = (said.into_iter().cycle(), ends.into_iter().cycle());
        let mut computer = |files: &mut _, call: &_| match ends.next() {
            Some(0) => CallReport::without_answer(Outcome::Unknown, "timeout", "late"),
            Some(1) => CallReport::without_answer(Outcome::NotStarted, "busy", "busy"),
            Some(2) => CallReport::without_answer(Outcome::Failed, "failed", "broken"),
            _ => carry_out(files, call),
        };
        while drive.run_to_consult_with(&mut computer) {
            drive.answer(said.next().unwrap());
        }
        prop_assert!(drive.state().status.is_final());
        prop_assert!(drive.state().usage.steps <= 24 + 16);
        let asked = drive.state().steps.iter().filter(|s| matches!(s.read, Some(Read::Turn(_))));
        prop_assert!(asked.count() as u32 <= rounds);
        // Nothing is called achieved of which a subtask is open or failed.
        if drive.state().status == TaskStatus::Completed {
            prop_assert_eq!(work(&drive).standing(), Standing::Achieved);
        }
    }
}
