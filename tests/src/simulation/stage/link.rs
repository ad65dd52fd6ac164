//! Tracked links on the stage: plain calls in turn.

use sms_core::ids::{AccountId, LinkId};
use sms_core::link::store::LinkStore;
use sms_core::link::{ClickPlan, Link, LinkCode, LinkFilter};
use sms_core::page::{Page, PageRequest};
use sms_core::store::StoreError;

use super::Stage;
use crate::simulation::forward::forward;

forward! {
    impl LinkStore for Stage {
        link_get(account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError>;
        link_list(account: AccountId, filter: LinkFilter, page: PageRequest)
            -> Result<Page<Link>, StoreError>;
        link_by_code(code: LinkCode) -> Result<Option<Link>, StoreError>;
        links_click(plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>>;
    }
}
