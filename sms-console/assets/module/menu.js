// The navigation of a narrow screen, behind its button.

const side = document.querySelector('.side');
const button = document.querySelector('.side-menu');
button?.addEventListener('click', () => {
  const open = side?.classList.toggle('side-open') ?? false;
  button.setAttribute('aria-expanded', String(open));
});
