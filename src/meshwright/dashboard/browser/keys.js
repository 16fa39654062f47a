// For those who do not reach for the mouse: digits go to pages, / to the search, t to the theme.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const links = document.querySelectorAll("nav.mw-nav a");
  if (/^[1-9]$/.test(event.key) && links[event.key - 1]) {
    links[event.key - 1].click();
  } else if (event.key === "/") {
    const field = document.querySelector(".mw-search input");
    if (field) { field.focus(); event.preventDefault(); }
  } else if (event.key === "t") {
    document.querySelector(".mw-theme").click();
  }
});

// A table that is written anew takes the focus with it: it goes back to the same link of its row.
let held = null;
const nameOf = (link) => link.closest("tr")?.cells[0].textContent + link.outerHTML;
document.addEventListener("focusin", (event) => {
  const link = event.target.closest(".mw-table a");
  held = link && { table: link.closest(".mw-table"), name: nameOf(link) };
});
document.addEventListener("pointerdown", () => { held = null; });
function keepFocus() {
  if (!held || document.activeElement !== document.body) return;
  const links = [...held.table.querySelectorAll("a")];
  links.find((one) => nameOf(one) === held.name)?.focus({ preventScroll: true });
}

document.addEventListener("DOMContentLoaded", () => {
  new MutationObserver(keepFocus).observe(document.body, { childList: true, subtree: true });
});
