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
