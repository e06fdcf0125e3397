//! What the compiler says to an author: one mistake per file in `ui/fail`, each message beside it.

#[test]
fn inv_1_a_mistake_is_answered_at_its_token_with_a_correct_line() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
