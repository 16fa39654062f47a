// Figures that nobody renews are old. The manager cannot say so once it hangs, so the page does.
//
// renewed() is called whenever the manager has looked at the network for this page.
const OLD_MS = 8000;
const ADVICE = ": nothing new comes from the manager. Brokers go on without it, and orders wait. "
  + "This page goes on by itself once it answers; if it has ended, start meshwright manager, or "
  + "meshwright up --manage, again.";
let renewedAt = Date.now();
let mark = null;

function renewed() {
  renewedAt = Date.now();
  showAge();
}

function showAge() {
  const age = Date.now() - renewedAt, isOld = age >= OLD_MS;
  document.body.classList.toggle("mw-old", isOld);
  if (!isOld) {
    mark?.remove();
    mark = null;
    return;
  }
  if (!mark) {
    mark = document.createElement("div");
    mark.className = "mw-age";
    mark.setAttribute("role", "status");
    const since = document.createElement("b");
    since.setAttribute("aria-live", "off");  // said once, not every second
    mark.append(since, ADVICE);
    document.body.append(mark);
  }
  mark.firstChild.textContent = `Figures of ${told(Math.round(age / 1000))} ago`;
}

const told = (seconds) => (seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`);

document.addEventListener("DOMContentLoaded", () => { renewed(); setInterval(showAge, 1000); });
