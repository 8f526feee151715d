// Keeps the page current: every event makes it fetch itself once more, a moment later.
const live = document.getElementById('live');
let due = false;

async function refresh() {
  due = false;
  const response = await fetch(location.pathname, { headers: { accept: 'text/html' } }).catch(
    () => undefined,
  );
  if (!response?.ok) return;
  const next = new DOMParser().parseFromString(await response.text(), 'text/html');
  document.getElementById('main').replaceWith(next.getElementById('main'));
  document.querySelector('header .badge').replaceWith(next.querySelector('header .badge'));
}

const events = new EventSource('/api/v1/events/stream');
const schedule = () => {
  if (due) return;
  due = true;
  setTimeout(refresh, 300);
};
events.onopen = () => {
  live.textContent = 'live';
  schedule();
};
events.onerror = () => {
  live.textContent = 'connection lost; trying again …';
};
events.onmessage = schedule;
// Bytes flow without events: while a bar is shown, it moves.
setInterval(() => {
  if (document.querySelector('progress') !== null) schedule();
}, 1000);
