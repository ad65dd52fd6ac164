// One campaign: its price, its launch, its counts as they change, its clicks.

import { get, post, remove } from '../api.js';
import { once, unanswered } from '../draft.js';
import { h, replace } from '../dom.js';
import { comingTime, counted, credits, fromLondon, time, whole } from '../format.js';
import { live } from '../live.js';
import { statusBadge } from '../part/badge.js';
import { button, linkButton, workButton } from '../part/button.js';
import { asRequest } from '../part/code.js';
import { confirm } from '../part/dialog.js';
import { head } from '../part/head.js';
import { notice, toast, toastError } from '../part/notice.js';
import { progress } from '../part/progress.js';
import { stat, stats } from '../part/stat.js';
import { loaded } from '../part/state.js';
import { unansweredNotice } from '../part/unanswered.js';
import { navigate } from '../router.js';
import { testMode } from '../session.js';
import { quoteOf } from './campaign_draft.js';
import { whenField } from './writing.js';

/** @typedef {import('../api.js').Campaign} Campaign */
/** @typedef {import('../api.js').Schemas['Quote']} Quote */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ params, signal }) {
  const path = `/v1/campaigns/${encodeURIComponent(params.id)}`;
  const problems = h('div');
  const body = loaded(signal, async () => {
    const campaign = (await get(path, {}, signal)).data;
    const list = await get(`/v1/lists/${campaign.list_id}`, {}, signal)
      .then((answer) => answer.data.name, () => null);
    return { campaign, list };
  }, ({ campaign, list }) => campaignCard(campaign, list, path, signal, changed));
  const changed = () => {
    replace(problems, unansweredNotice(launchName(path), () => changed(), () => changed()));
    body.refresh();
  };
  if (unanswered(launchName(path))) changed();
  live(signal, body.refresh);
  return { title: 'Campaign', content: [problems, body.element] };
}

/** @param {string} path */
const launchName = (path) => `launch ${path}`;

/**
 * @param {Campaign} campaign
 * @param {string | null} list
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {() => void} changed
 */
function campaignCard(campaign, list, path, signal, changed) {
  const draft = campaign.status === 'draft';
  const running = ['scheduled', 'sending'].includes(campaign.status);
  return [
    head(campaign.name, {
      back: ['Campaigns', '/console/campaigns'],
      beside: statusBadge(campaign.status),
      lead: inWords(campaign),
      actions: [
        draft ? workButton('Launch…', () => launch(campaign, path, signal, changed), toastError,
          { kind: 'main' }) : null,
        draft ? linkButton('Edit', `/console/campaigns/${campaign.id}/edit`) : null,
        draft ? button('Delete', () => erase(campaign, path), { kind: 'danger' }) : null,
        running ? button('Cancel the campaign', () => cancel(campaign, path, changed),
          { kind: 'danger' }) : null,
      ],
    }),
    h('div', { class: 'stack' },
      draft ? null : results(campaign),
      h('div', { class: 'columns' },
        h('section', { class: 'card stack' }, h('h2', null, 'Message'),
          h('div', { class: 'preview' }, campaign.body),
          campaign.append_opt_out
            ? h('p', { class: 'small faint' }, 'A line that says how to opt out is added.') : null),
        h('section', { class: 'card' }, h('h2', null, 'Details'), h('dl', { class: 'facts' },
          h('dt', null, 'Audience'), h('dd', null,
            list ? h('a', { href: `/console/lists/${campaign.list_id}` }, list)
              : 'A list that was deleted'),
          h('dt', null, 'Sent from'), h('dd', null, campaign.sender ?? 'Your number'),
          h('dt', null, 'Links'), h('dd', null, campaign.track_links ? 'Tracked' : 'As written'),
          h('dt', null, 'Quiet hours'), h('dd', null,
            campaign.ignore_quiet_hours ? 'Ignored' : 'Kept'),
          h('dt', null, 'Launched'), h('dd', null, time(campaign.launched_at)),
          h('dt', null, 'Completed'), h('dd', null, time(campaign.completed_at))))),
      asRequest('POST', `${path}/send`, {})),
  ];
}

/** @param {Campaign} campaign */
function inWords(campaign) {
  if (campaign.status === 'draft') return 'A draft: nothing has been sent.';
  if (campaign.status === 'scheduled' && campaign.scheduled_at) {
    return ['Goes at ', h('strong', null, comingTime(campaign.scheduled_at)), ', London time.'];
  }
  return `${counted(campaign.recipients, 'message')} for ${credits(campaign.credits)}.`;
}

/** @param {Campaign} campaign */
function results(campaign) {
  const { counts, links, id } = campaign;
  const done = counts.sent + counts.delivered + counts.undelivered + counts.failed
    + counts.cancelled;
  /** @param {string} status @param {string} name */
  const figure = (status, name) => stat(name,
    whole(counts[/** @type {keyof typeof counts} */ (status)]),
    counts[/** @type {keyof typeof counts} */ (status)] > 0
      ? h('a', { href: `/console/messages?campaign_id=${id}&status=${status}` }, 'Show') : null);
  return h('section', { class: 'stack', 'aria-label': 'Results' },
    h('div', { class: 'card' }, progress('Messages that have left', done, campaign.recipients)),
    stats(
      figure('delivered', 'Delivered'), figure('sent', 'On their way'),
      stat('Waiting', whole(counts.scheduled + counts.queued + counts.sending)),
      figure('undelivered', 'Undelivered'), figure('failed', 'Failed'),
      counts.cancelled > 0 ? figure('cancelled', 'Cancelled') : null,
      links.track_links ? stat('People who clicked', whole(links.unique_clicked),
        h('a', { href: `/console/links?campaign_id=${id}` }, counted(links.clicks, 'click')))
        : null),
    campaign.rejected > 0 ? notice('info',
      `${counted(campaign.rejected, 'person', 'people')} of the list did not get it: opted out, `
      + 'or the text was too long or empty for them.') : null);
}

/**
 * @param {Campaign} campaign
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {() => void} changed
 */
async function launch(campaign, path, signal, changed) {
  /** @type {Quote | null} */
  const quote = await post('/v1/messages/quote', quoteOf(campaign))
    .then((answer) => answer.data, () => null);
  if (signal.aborted) return;
  const when = whenField('', () => {});
  const price = !quote ? 'The price is not known'
    : testMode() ? 'Free: test mode' : credits(quote.credits);
  confirm({
    title: `Launch “${campaign.name}”?`,
    text: h('div', { class: 'stack' },
      h('p', null, quote ? `It goes to ${counted(quote.recipients, 'person', 'people')}.` : ''),
      h('p', { class: 'big-price' }, price),
      quote && quote.credits > quote.balance && !testMode()
        ? notice('bad', `The balance is ${credits(quote.balance)}: this will be refused.`) : null,
      when.element,
      campaign.ignore_quiet_hours ? null : h('p', { class: 'small faint' },
        'During quiet hours (normally 21:00 to 09:00) it waits until they end.')),
    action: quote && !testMode() ? `Launch for ${credits(quote.credits)}` : 'Launch',
    run: async () => {
      try {
        const moment = fromLondon(when.value());
        const answer = await once(launchName(path), `${path}/send`,
          moment ? { schedule_at: moment } : {});
        toast(answer.meta.quiet_hours_applied
          ? `It is quiet now: it goes at ${comingTime(answer.data.scheduled_at)}.`
          : 'Launched.');
      } finally {
        changed();
      }
    },
  });
}

/**
 * @param {Campaign} campaign
 * @param {string} path
 * @param {() => void} changed
 */
function cancel(campaign, path, changed) {
  const { scheduled, queued } = campaign.counts;
  confirm({
    title: `Cancel “${campaign.name}”?`,
    text: `About ${counted(scheduled + queued, 'message')} that have not left are cancelled and `
      + 'refunded. What has left cannot be called back.',
    action: 'Cancel the campaign',
    danger: true,
    run: async () => {
      const { meta } = await post(`${path}/cancel`);
      toast(`${counted(meta.cancelled_messages, 'message')} cancelled.`);
      changed();
    },
  });
}

/** @param {Campaign} campaign @param {string} path */
function erase(campaign, path) {
  confirm({
    title: `Delete the draft “${campaign.name}”?`,
    text: 'It has sent nothing. It cannot be brought back.',
    action: 'Delete the draft',
    danger: true,
    run: async () => {
      await remove(path);
      toast('The draft was deleted.');
      navigate('/console/campaigns');
    },
  });
}
