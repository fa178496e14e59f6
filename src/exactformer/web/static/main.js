// The page: the address says what is shown.

import { failed, h, speak } from "./dom.js";
import { learn } from "./glossary.js";
import { homeView } from "./home.js";
import { read } from "./route.js";
import { openStore } from "./store.js";

const store = openStore();
const PAGES = new Map([
  ["", "home"],
  ["check", "check"],
  ["certified", "certified"],
  ["lesson", "lesson"],
]);
const MAKERS = {
  // views that stay, and show what an address says; each is read when it is first needed
  pass: async () => new (await import("./pass.js")).Pass(store),
  certified: async () => new (await import("./certified.js")).Certified(store),
  walk: async () => new (await import("./walked.js")).ModelWalk(store),
};
const making = {};
const made = {};
let shown = null;
if (!store.pages && !location.hash && store.held.at) history.replaceState(null, "", store.held.at); // where it was written

async function show() {
  const route = read();
  const named = (store.pages && PAGES.get(route.source)) || "pass";
  const page = named === "certified" && route.view === "walk" ? "walk" : named;
  mark(route.source);
  if (shown !== null && shown !== page) document.getElementById("main").classList.add("busy"); // until the other is there
  if (page !== "certified") made.certified?.stop();
  if (page !== "walk") made.walk?.walk?.stop();
  if (page !== "pass") made.pass?.left();
  if (page !== "lesson") speak();
  try {
    if (page in MAKERS) {
      if (!made[page]) {
        const [view] = await Promise.all([(making[page] ??= MAKERS[page]()), page === "pass" ? learn(store) : null]);
        made[page] = view;
        if (!same(route)) return;
      }
      place(made[page].element, page);
      await made[page].show(route);
      return;
    }
    const view = await alone(page, route);
    if (view && same(route)) place(view, page === "lesson" ? `lesson ${location.hash}` : page);
  } catch (error) {
    place(h("main", { id: "main", tabindex: -1 }, failed(error.message)), page);
  } finally {
    if (same(route)) document.documentElement.dataset.shown = location.hash; // what the address says is there
  }
}

/** Views that are made anew each time. */
async function alone(page, route) {
  if (page === "home") return homeView(store);
  if (page === "lesson") return (await import("./lesson.js")).lessonView(store, route);
  return shown === page ? null : (await import("./check.js")).checkView(store);
}

/** Does the address still say this? */
function same(route) {
  return JSON.stringify(read()) === JSON.stringify(route);
}

function place(view, page) {
  const old = document.getElementById("main");
  if (old !== view) old.replaceWith(view);
  view.classList.remove("busy");
  if (shown !== null && shown !== page) view.focus({ preventScroll: true });
  if (shown !== page) scrollTo(0, 0);
  if (!["pass", "walk"].includes(page) && !page.startsWith("lesson")) document.title = "exactformer";
  shown = page;
}

function mark(source) {
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.getAttribute("href") === `#${source}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

document.querySelector(".skip-link").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # is the address of what is shown
  document.getElementById("main").focus();
});
addEventListener("hashchange", show); // and not popstate, which tells the same once more
addEventListener("address", show);
addEventListener("keydown", (event) => {
  const walking = ["pass", "walk"].includes(shown) && made[shown];
  if (event.defaultPrevented || event.altKey || !walking) return;
  if (event.target.closest("input:not([type=range]), select, textarea, [contenteditable]")) return;
  if (event.ctrlKey || event.metaKey) {
    if (shown === "pass" && event.key.toLowerCase() === "z" && !event.shiftKey && walking.undo()) event.preventDefault();
  } else if (!event.target.closest("input, summary")) walking.walk?.pressed(event);
});
show();
if (store.live) offer();

/** A page for the model, where one was given at the start. */
async function offer() {
  const { model } = await store.get("about");
  if (!model) return;
  document.querySelector(".top nav").append(h("a", { href: "#certified" }, "Certified"));
  mark(read().source);
}
