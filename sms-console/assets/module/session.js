// Several tabs have one session. When another tab has signed in as somebody else, this page is not
// theirs: it is loaded again. When the same person has signed in again, its forms get the token of
// the new session, and what was typed stays.

const { owner } = document.body.dataset;
const tabs = new BroadcastChannel('console session');

/** @returns {HTMLInputElement[]} */
const tokens = () => [...document.querySelectorAll('input[name="csrf"]')]
  .filter((one) => one instanceof HTMLInputElement);

if (owner) {
  tabs.postMessage({ owner, csrf: tokens()[0]?.value });
  tabs.onmessage = ({ data }) => {
    if (data.owner !== owner) location.reload();
    else if (data.csrf) for (const one of tokens()) one.value = data.csrf;
  };
}
