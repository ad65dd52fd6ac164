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
fn a_plan_keeps_no_messages_once_they_cost_more_than_the_account_has() {
    let world = World::new(Mode::Live);
    let mut request = SendRequest::new("See https://example.com/a and https://example.com/b");
    request.track_links = true;
    let plan_within = |means: u64| {
        let mut planner =
            world.planner(&request, &request.body).within(crate::samples::credits(means));
        let mut most = 0;
        for page in 0..4 {
            let numbers = (page * 100..(page + 1) * 100).map(mobile);
            let opted_out = Rejection::of(mobile(page), RejectionReason::OptedOut);
            planner.add(numbers.map(Candidate::Number).collect());
            planner.add(vec![Candidate::Rejected(opted_out)]);
            while planner.next_portion() == Progress::More {}
            most = most.max(planner.planned().messages.len());
        }
        (most, planner.finish())
    };
    let (_, whole) = plan_within(400);
    assert_eq!((whole.extent, whole.messages.len(), whole.links.len()), (Extent::Whole, 400, 800));
    for means in [0, 1, 150, 399] {
        let (most, plan) = plan_within(means);
        assert_eq!((plan.extent, plan.messages.len()), (Extent::PriceOnly, 0));
        assert!(plan.links.is_empty() && most as u64 <= means, "{most} of {means}");
        assert_eq!((plan.price, plan.charge), (whole.price, whole.charge));
        assert_eq!(plan.rejected, whole.rejected);
    }
}

#[test]
fn a_plan_that_nobody_needs_is_freed_in_portions() {
    let world = World::new(Mode::Live);
    let request = SendRequest::new("the same for all");
    let mut planner = world.planner(&request, &request.body);
    planner.add((0..1_000).map(|n| Candidate::Number(mobile(n))).collect());
    while planner.next_portion() == Progress::More {}
    let mut left = vec![planner.planned().messages.len()];
    while planner.next_freed() == Progress::More {
        left.push(planner.planned().messages.len());
    }
    assert!(left.windows(2).all(|two| two[0] - two[1] <= FREED), "{left:?}");
    assert_eq!((left.first(), left.last()), (Some(&1_000), Some(&0)));
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
