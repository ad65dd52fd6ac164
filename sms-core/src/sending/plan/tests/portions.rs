//! How much work a portion of a plan is.

use super::*;

#[test]
fn a_plan_is_made_in_portions_of_bounded_work() {
    let plan_in_portions = |body: &str, tracked: bool| {
        let mut world = World::new(Mode::Live);
        world.custom_names.insert("a".to_owned());
        let mut request = SendRequest::new(body);
        request.track_links = tracked;
        let mut planner = world.planner(&request, body);
        planner.add((0..1_000).map(|n| Candidate::Number(mobile(n))).collect());
        let mut portions = vec![];
        loop {
            let progress = planner.next_portion();
            portions.push(planner.take_planned());
            if progress == Progress::Done {
                break;
            }
        }
        let all = |part: &Planned| part.messages.len() + part.rejected.len();
        assert_eq!(portions.iter().map(all).sum::<usize>(), 1_000);
        portions.iter().map(all).max().unwrap()
    };
    assert_eq!(plan_in_portions("the same for all", false), MOST_RECIPIENTS);
    let worst = "{a}".repeat(533);
    assert_eq!(plan_in_portions(&worst, false), PORTION / 1_700);
    assert_eq!(plan_in_portions(&worst, true), PORTION / 16_100);
}

#[test]
fn a_page_of_contacts_is_smaller_the_more_its_values_and_messages_may_take() {
    use crate::sending::writer::page_size;

    assert_eq!(page_size("the same for all", true, 1_000), 1_000);
    assert_eq!(page_size("Hi {first_name}", false, 1_000), 1_000);
    let worst = "{a}".repeat(533);
    let (plain, tracked) = (page_size(&worst, false, 1_000), page_size(&worst, true, 1_000));
    assert_eq!((plain, tracked), (149, 98), "16 MiB each");
}
