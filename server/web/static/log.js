// Appends what the steps of a pipeline say, as they say it. It stays at the end while the reader is there.
const log = document.getElementById('log');
const frame = log.parentElement;
const MOST_CHARACTERS = 500_000;

const lines = new EventSource(log.dataset.stream);
lines.onmessage = ({ data }) => {
  const isAtEnd = frame.scrollTop + frame.clientHeight >= frame.scrollHeight - 20;
  log.append(JSON.parse(data).text);
  if (log.textContent.length > MOST_CHARACTERS) log.textContent = log.textContent.slice(-MOST_CHARACTERS / 2);
  if (isAtEnd) frame.scrollTop = frame.scrollHeight;
};
frame.scrollTop = frame.scrollHeight;
