// How numbers and times are written for people.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  comingTime, counted, dayInWords, fromLondon, phone, toLondon,
} from '../../../sms-console/assets/format.js';

test('numbers are written as people write them', () => {
  const numbers = [
    ['+447700900123', '07700 900123'], ['+442079460000', '020 7946 0000'],
    ['+441514960000', '01514 960000'], ['+33123456789', '+33123456789'], ['12', '12'],
  ];
  for (const [number, written] of numbers) assert.equal(phone(number), written);
  assert.equal(counted(1, 'person', 'people'), '1 person');
  assert.equal(counted(1204, 'person', 'people'), '1,204 people');
});

test('a time in London is the moment when its clocks show it, summer or winter', () => {
  const moments = [
    ['2026-01-15T08:00', '2026-01-15T08:00:00.000Z'],
    ['2026-07-15T08:00', '2026-07-15T07:00:00.000Z'],
    // The nights in which the clocks change.
    ['2026-10-25T00:30', '2026-10-24T23:30:00.000Z'],
    ['2026-10-25T02:30', '2026-10-25T02:30:00.000Z'],
    ['2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
  ];
  for (const [local, moment] of moments) {
    assert.equal(fromLondon(local), moment);
    assert.equal(toLondon(new Date(moment)), local);
  }
  assert.equal(fromLondon(''), null);
  const now = new Date('2026-07-14T20:00:00Z');
  assert.equal(comingTime('2026-07-15T07:00:00.000Z', now), '08:00 tomorrow');
  assert.equal(comingTime('2026-07-14T21:15:00.000Z', now), '22:15 today');
});

test('yesterday and tomorrow are the days beside today when the clocks change', () => {
  // The 25 hours of 25 October begin at 23:00 UTC on the 24th, the 23 of 29 March at 00:00 UTC.
  const late = new Date('2026-10-25T23:30:00Z');
  assert.equal(dayInWords('2026-10-24T12:00:00Z', late), 'Yesterday');
  assert.equal(dayInWords('2026-10-25T12:00:00Z', late), 'Today');
  const early = new Date('2026-10-24T23:30:00Z');
  assert.equal(comingTime('2026-10-26T08:00:00Z', early), '08:00 tomorrow');
  const evening = new Date('2026-03-28T23:30:00Z');
  assert.equal(comingTime('2026-03-29T07:00:00Z', evening), '08:00 tomorrow');
  assert.equal(comingTime('2026-03-30T07:00:00Z', evening), '08:00 on Monday 30 March');
});
