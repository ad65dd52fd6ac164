// The design: every token, and every component in every state.

import { Refused, Unreachable } from '../api.js';
import { h } from '../dom.js';
import { badge, statusBadge } from '../part/badge.js';
import { bubbles } from '../part/bubble.js';
import { busy, button, linkButton } from '../part/button.js';
import { code } from '../part/code.js';
import { confirm } from '../part/dialog.js';
import { field } from '../part/field.js';
import { head, tabs } from '../part/head.js';
import { notice, toast } from '../part/notice.js';
import { progress } from '../part/progress.js';
import { rejections } from '../part/rejection.js';
import { chart, stat, stats } from '../part/stat.js';
import { empty, failed, loading } from '../part/state.js';
import { table } from '../part/table.js';
import { timeline } from '../part/timeline.js';
import { themeField } from '../shell.js';

const COLOURS = ['paper', 'surface', 'sunken', 'line', 'ink', 'ink-soft', 'accent', 'accent-soft',
  'good', 'warn', 'bad'];

/** @returns {import('../router.js').Page} */
export function page() {
  return {
    title: 'Design',
    content: [
      head('Design', {
        lead: 'The tokens and the components of this console, each in every state.',
        actions: linkButton('To the console', '/console'),
      }),
      h('div', { class: 'stack stack-loose' },
        section('Colour', 'Eleven colours, in light and in dark. A colour never says anything '
          + 'alone: a word stands beside it.',
        themeField(), h('div', { class: 'swatches' }, COLOURS.map((name) => (
          h('div', { class: `swatch swatch-${name}` }, name))))),
        section('Type', 'One family, the system’s own, in four sizes.',
          h('p', { class: 'big-price' }, 'Figure: 1,204 credits'),
          h('div', { class: 'design-title' }, 'Title'), h('p', null, 'Body: most words.'),
          h('p', { class: 'small faint' }, 'Small and faint: what is read second.')),
        buttons(), fields(), words(), states(), figures(), lists(), conversation()),
    ],
  };
}

/** @param {string} title @param {string} about @param {...import('../dom.js').Child} content */
function section(title, about, ...content) {
  return h('section', { class: 'card stack', 'aria-label': title },
    h('h2', null, title), h('p', { class: 'faint' }, about), content);
}

function buttons() {
  const working = button('Sending', null, { kind: 'main' });
  busy(working, true);
  return section('Button', 'One main button on a page. What destroys is red, and asks first.',
    h('div', { class: 'actions' }, button('Main', null, { kind: 'main' }), button('Plain', null),
      button('Destroys', null, { kind: 'danger' }), button('Quiet', null, { kind: 'quiet' }),
      button('Small', null, { small: true }), working,
      button('Not now', null, { disabled: true }), linkButton('A link', '/console/design')),
    h('div', { class: 'actions' }, button('Open a dialog', () => confirm({
      title: 'Send 3 messages?', text: 'It says the price, and what cannot be undone.',
      action: 'Send for 3 credits', run: async () => toast('Sent.'),
    })), button('Show a toast', () => toast('Saved.'))));
}

function fields() {
  return section('Field', 'A label above, a hint between, what is wrong below.',
    h('div', { class: 'form' },
      field({ name: 'plain', label: 'Name', hint: 'As it stands on the door.' }).element,
      field({ name: 'optional', label: 'Note', optional: true }).element,
      field({ name: 'wrong', label: 'Mobile number', value: '0123', type: 'tel',
        problem: 'This is no UK mobile number.' }).element,
      field({ name: 'off', label: 'Not now', value: 'Cannot be changed', disabled: true }).element,
      field({ name: 'choice', label: 'Choice', type: 'select',
        options: [{ value: 'a', label: 'One' }, { value: 'b', label: 'The other' }] }).element,
      field({ name: 'words', label: 'Words', type: 'textarea' }).element,
      field({ name: 'check', label: 'Yes, do', type: 'check', value: true }).element));
}

function words() {
  return section('Badge and notice', 'A badge is a state in a word; a notice is a sentence that '
    + 'stays.',
  h('div', { class: 'actions' },
    ['scheduled', 'queued', 'sending', 'sent', 'delivered', 'undelivered', 'failed', 'cancelled',
      'received'].map(statusBadge), badge('3', 'accent')),
  notice('info', 'Info: something to know.'), notice('good', 'Good: it was done.'),
  notice('warn', 'Warning: look at this.'),
  h('div', { class: 'notice notice-bad' }, 'Bad: it was not done, and why.'),
  code('A request', 'curl -s https://example.com/api/v1/balance'),
  tabs('Tabs', [{ text: 'This one', href: '/console/design', current: true },
    { text: 'Another', href: '/console/design', current: false }]));
}

function states() {
  const missing = new Refused(404, 'not_found', 'not found', null);
  return section('State', 'Loading, empty, offline, missing, failed.',
    loading(),
    empty('No contacts yet', 'What it is for, and what to do.', button('Add one', null)),
    failed(new Unreachable(), () => {}), failed(missing, () => {}),
    failed(new Error('The server answered 500.'), () => {}));
}

function figures() {
  const days = Array.from({ length: 30 }, (_, index) => ({
    date: `2026-11-${String(index + 1).padStart(2, '0')}`,
    sent: Math.round(40 + 30 * Math.sin(index / 3)), received: (index * 7) % 23, failed: index % 4,
  }));
  return section('Figure, chart, progress', 'Figures are tabular. A chart is a table as well.',
    stats(stat('Balance', '1,204', 'Credits'), stat('Sent', '318', '12% more')),
    chart('Messages by day', days, [
      { name: 'Sent', kind: 'main', of: (day) => day.sent },
      { name: 'Received', kind: 'other', of: (day) => day.received },
      { name: 'Failed', kind: 'bad', of: (day) => day.failed },
    ]),
    progress('Rows imported', 620, 1000));
}

function lists() {
  return section('Table and timeline', 'On a narrow screen a row becomes a card.',
    table('An example', [
      { label: 'Name', cell: (/** @type {any} */ row) => h('strong', null, row[0]) },
      { label: 'State', cell: (row) => statusBadge(row[1]) },
      { label: 'Credits', right: true, cell: (row) => row[2] },
    ], [['Front desk', 'delivered', '1'], ['Supplier', 'failed', '2']]).element,
    timeline([
      { status: 'queued', detail: null, at: '2026-11-23T07:07:10.123Z' },
      { status: 'sent', detail: null, at: '2026-11-23T07:07:11.123Z' },
      { status: 'undelivered', detail: 'absent_subscriber', at: '2026-11-23T07:07:13.123Z' },
    ]),
    rejections([{ to: '020 7946 0000', reason: 'not_mobile' },
      { to: '+447700900190', reason: 'opted_out' }]));
}

function conversation() {
  /** @param {Partial<import('../api.js').Message>} given */
  const message = (given) => /** @type {import('../api.js').Message} */ ({
    id: 'msg_example', created_at: '2026-11-23T07:07:10.123Z', status: 'delivered', test: false,
    direction: 'outbound', error_code: null, body: '', ...given,
  });
  return section('Bubble', 'What they wrote is on the left, what you wrote on the right.',
    bubbles([
      message({ direction: 'inbound', status: 'received', body: 'Could we come at half past?' }),
      message({ body: 'Of course, see you then.' }),
      message({ status: 'queued', body: 'The table is by the window.' }),
      message({ status: 'undelivered', error_code: 'absent_subscriber', body: 'Are you there?' }),
    ]));
}
