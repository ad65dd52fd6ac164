// What is on screen has been read: the form that says so is sent when somebody looks.

import { liveNow } from './live.js';

let asking = false;

async function look() {
  const form = document.querySelector('form[data-read]');
  if (!(form instanceof HTMLFormElement) || asking) return;
  if (document.visibilityState !== 'visible') return;
  asking = true;
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) fields.append(name, String(value));
  try {
    await fetch(form.action, { method: 'POST', body: fields, redirect: 'manual' });
  } catch {
    // The next message that is shown tries again.
  }
  asking = false;
  liveNow();
}

document.addEventListener('swapped', look);
document.addEventListener('visibilitychange', look);
look();
